// Accounts, for operators.
import { type Account as AuthAccount, AccountState, ListAccountsRequest, UpdateAccountRequest } from '#proto/auth/v1/auth.js';
import { ListUsageRecordsRequest } from '#proto/metering/v1/metering.js';
import type { OperationDeps } from '../../deps.js';
import { renderAccount, renderAccountInList } from '../../render/accounts.js';
import { accountRateLimitsOf } from '../../render/rate-limits.js';
import { instant, orNull } from '../../render/values.js';
import {
  Account,
  AccountDetail,
  AccountList,
  ListAccounts,
  CreateAccount,
  ResumeAccount,
  SuspendAccount,
  UpdateAccount,
} from '../../schemas/operator/accounts.js';
import { type Area, type Call, created, ok, operation } from '../../table/operation.js';
import { updateMaskOf } from '../../table/update-mask.js';
import { unlessUnavailable } from '../../unavailable.js';

const states = { active: AccountState.ACCOUNT_STATE_ACTIVE, suspended: AccountState.ACCOUNT_STATE_SUSPENDED } as const;

export const accounts: Area = {
  title: 'Operators: accounts',
  description: 'All accounts.',
  operations: [
    operation('GET', '/operator/accounts', {
      summary: 'List the accounts with their money and keys, newest first.',
      who: 'operator',
      query: ListAccounts,
      paged: true,
      answers: [ok(AccountList)],
      handle: async ({ query, page, context }, { peers: { auth, ledger } }) => {
        const request = ListAccountsRequest.fromPartial({
          ...page,
          search: query.search ?? '',
          state: query.state === undefined ? AccountState.ACCOUNT_STATE_UNSPECIFIED : states[query.state],
          newestFirst: true,
          withKeyCounts: true,
        });
        const { accounts: found, keyCounts, nextPageToken } = await auth.listAccounts(request, context());
        // Auth owns accounts, so they are listed without their balances while the ledger is unavailable.
        const money =
          found.length === 0
            ? undefined
            : await unlessUnavailable(ledger.batchGetBalances({ accountIds: found.map(({ id }) => id) }, context('brief')));
        const data = found.map((account, index) => renderAccountInList(account, money?.balances[index], keyCounts[index]!));
        return { data, next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/operator/accounts', {
      summary: 'Create an account.',
      who: 'operator',
      idempotency: 'A repeat creates no second account.',
      body: CreateAccount,
      answers: [created(Account)],
      handle: async ({ body, idempotencyKey, context }, deps) => {
        const rateLimits = body.rate_limits == null ? undefined : accountRateLimitsOf(body.rate_limits);
        const { account } = await deps.peers.auth.createAccount({ name: body.name, idempotencyKey, rateLimits }, context());
        return renderAccount(account!);
      },
    }),
    operation('GET', '/operator/accounts/{account}', {
      summary: 'Show an account with its money and its last call.',
      who: 'operator',
      answers: [ok(AccountDetail)],
      handle: async (call, deps) => {
        const { context } = call;
        const account = await accountInPath(call, deps);
        const { ledger, metering, auth } = deps.peers;
        const accountId = account.id;
        const [{ keyCounts }, money, used] = await Promise.all([
          auth.listAccounts(ListAccountsRequest.fromPartial({ search: accountId, withKeyCounts: true }), context()),
          unlessUnavailable(ledger.getBalance({ accountId }, context('brief'))),
          unlessUnavailable(
            metering.listUsageRecords(ListUsageRecordsRequest.fromPartial({ filter: { accountId }, pageSize: 1 }), context('brief')),
          ),
        ]);
        const last = used?.records[0]?.call;
        return {
          ...renderAccountInList(account, money?.balance, keyCounts[0] ?? 0),
          last_call: last === undefined ? null : { request_id: last.id, at: instant(last.startedAtMs) },
          away: [...(money === undefined ? (['ledger'] as const) : []), ...(used === undefined ? (['metering'] as const) : [])],
        };
      },
    }),
    operation('PATCH', '/operator/accounts/{account}', {
      summary: 'Change the name or the rate limits of an account: absent fields are unchanged, and null removes all limits.',
      who: 'operator',
      body: UpdateAccount,
      answers: [ok(Account)],
      handle: async (call, deps) => {
        const { body, context } = call;
        const before = await accountInPath(call, deps);
        const request = UpdateAccountRequest.fromPartial({
          accountId: before.id,
          name: body.name ?? '',
          ...(body.rate_limits == null ? {} : { rateLimits: accountRateLimitsOf(body.rate_limits) }),
          updateMask: updateMaskOf(body, { name: 'name', rate_limits: 'rate_limits' }),
        });
        const { account } = await deps.peers.auth.updateAccount(request, context());
        return renderAccount(account!);
      },
    }),
    operation('POST', '/operator/accounts/{account}/suspend', {
      summary: 'Suspend an account: calls with its keys are refused within a second.',
      who: 'operator',
      body: SuspendAccount,
      answers: [ok(Account)],
      handle: (call, deps) => setState(call, deps, 'suspend'),
    }),
    operation('POST', '/operator/accounts/{account}/resume', {
      summary: 'Resume an account.',
      who: 'operator',
      body: ResumeAccount,
      answers: [ok(Account)],
      handle: (call, deps) => setState(call, deps, 'resume'),
    }),
  ],
};

async function setState(
  call: Call<'account', unknown, { readonly reason?: string | null }>,
  deps: OperationDeps,
  action: 'suspend' | 'resume',
): Promise<Account> {
  const { body, context } = call;
  const reason = body.reason ?? '';
  const before = await accountInPath(call, deps);
  const change = action === 'suspend' ? { state: states.suspended, stateReason: reason } : { state: states.active, stateReason: '' };
  const { account } = await deps.peers.auth.updateAccount(
    UpdateAccountRequest.fromPartial({ accountId: before.id, ...change, updateMask: ['state', 'state_reason'] }),
    context(),
  );
  return renderAccount(account!);
}

/** Returns the account in the path. Raises not_found. */
export async function accountInPath({ params, context }: Call<'account'>, { peers }: OperationDeps): Promise<AuthAccount> {
  const { account } = await peers.auth.getAccount({ accountId: params.account }, context());
  return account!;
}
