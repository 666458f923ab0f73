// Accounts, for operators: found, made, renamed, suspended and resumed.
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { type Account, AccountState, ListAccountsRequest, UpdateAccountRequest } from '#proto/auth/v1/auth.js';
import { ListUsageRecordsRequest } from '#proto/metering/v1/metering.js';
import { noteAudit } from '../../audit.js';
import { unlessAway } from '../../unavailable.js';
import { briefly, contextOf } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { idempotencyKeyOf } from '../../idempotency-key.js';
import { pageOf, queryText } from '../../paging.js';
import { renderAccount, renderAccountInList } from '../../render/operator.js';
import { instant, orNull } from '../../render/values.js';
import { operatorBodies } from './operator-bodies.js';

/** Adds the routes below `base`, behind what lets in operators alone. */
export function accountRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/accounts`, listAccounts(deps));
  router.post(`${base}/accounts`, createAccount(deps));
  router.get(`${base}/accounts/:account`, getAccount(deps));
  router.patch(`${base}/accounts/:account`, renameAccount(deps));
  router.post(`${base}/accounts/:account/suspend`, setState(deps, 'suspend'));
  router.post(`${base}/accounts/:account/resume`, setState(deps, 'resume'));
}

const states: ReadonlyMap<string, AccountState> = new Map([
  ['', AccountState.ACCOUNT_STATE_UNSPECIFIED],
  ['active', AccountState.ACCOUNT_STATE_ACTIVE],
  ['suspended', AccountState.ACCOUNT_STATE_SUSPENDED],
]);

/** GET accounts?search=…&state=…: the newest first, with their money and keys. They are auth's, and listed without their money while the ledger is away. */
function listAccounts(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const state = states.get(queryText(ctx, 'state'));
    if (state === undefined) throw new AppError('invalid_request', 'state: must be active or suspended', { details: { field: 'state' } });
    const { auth, ledger } = deps.peers;
    const request = ListAccountsRequest.fromPartial({
      ...pageOf(ctx),
      search: queryText(ctx, 'search'),
      state,
      newestFirst: true,
      withKeyCounts: true,
    });
    const { accounts, keyCounts, nextPageToken } = await auth.listAccounts(request, contextOf(deps));
    const balances =
      accounts.length === 0
        ? []
        : await unlessAway(
            ledger.batchGetBalances({ accountIds: accounts.map(({ id }) => id) }, briefly(deps)).then((answer) => answer.balances),
          );
    const data = accounts.map((account, index) => renderAccountInList(account, balances?.[index], keyCounts[index]!));
    ctx.body = { data, next: orNull(nextPageToken) };
  };
}

/** POST accounts. With Idempotency-Key a repeat makes no second one. */
function createAccount(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { name } = await operatorBodies.createAccount(ctx);
    const { account } = await deps.peers.auth.createAccount({ name, idempotencyKey: idempotencyKeyOf(ctx, 'console') }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId: account!.id, action: 'account.create', targetId: account!.id, detail: { name } });
    ctx.status = 201;
    ctx.body = renderAccount(account!);
  };
}

/** GET accounts/{id}: with its money and its last call, as far as those who know them answer. */
function getAccount(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const account = await accountInPath(ctx, deps);
    const { ledger, metering, auth } = deps.peers;
    const accountId = account.id;
    const [{ keyCounts }, money, used] = await Promise.all([
      auth.listAccounts(ListAccountsRequest.fromPartial({ search: accountId, withKeyCounts: true }), contextOf(deps)),
      unlessAway(ledger.getBalance({ accountId }, briefly(deps))),
      unlessAway(metering.listUsageRecords(ListUsageRecordsRequest.fromPartial({ filter: { accountId }, pageSize: 1 }), briefly(deps))),
    ]);
    const call = used?.records[0]?.call;
    ctx.body = {
      ...renderAccountInList(account, money?.balance, keyCounts[0] ?? 0),
      last_call: call === undefined ? null : { request_id: call.id, at: instant(call.startedAtMs) },
      away: [...(money === undefined ? ['ledger'] : []), ...(used === undefined ? ['metering'] : [])],
    };
  };
}

/** PATCH accounts/{id}: another name. */
function renameAccount(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { name } = await operatorBodies.updateAccount(ctx);
    const before = await accountInPath(ctx, deps);
    const { account } = await deps.peers.auth.updateAccount(
      UpdateAccountRequest.fromPartial({ accountId: before.id, name, updateMask: ['name'] }),
      contextOf(deps),
    );
    await noteAudit(ctx, deps, {
      accountId: before.id,
      action: 'account.rename',
      targetId: before.id,
      detail: { before: { name: before.name }, after: { name: account!.name } },
    });
    ctx.body = renderAccount(account!);
  };
}

/** POST accounts/{id}/suspend and resume: its keys are refused, and served again, within a second. */
function setState(deps: ConsoleDeps, deed: 'suspend' | 'resume'): Middleware {
  return async (ctx: Context) => {
    const isSuspension = deed === 'suspend';
    const reason = (isSuspension ? await operatorBodies.suspend(ctx) : await operatorBodies.resume(ctx)).reason ?? '';
    const before = await accountInPath(ctx, deps);
    const state = isSuspension ? AccountState.ACCOUNT_STATE_SUSPENDED : AccountState.ACCOUNT_STATE_ACTIVE;
    const request = UpdateAccountRequest.fromPartial({
      accountId: before.id,
      state,
      stateReason: isSuspension ? reason : '',
      updateMask: ['state', 'state_reason'],
    });
    const { account } = await deps.peers.auth.updateAccount(request, contextOf(deps));
    const shown = (each: Account) => ({ state: renderAccount(each).state, state_reason: renderAccount(each).state_reason });
    await noteAudit(ctx, deps, {
      accountId: before.id,
      action: `account.${deed}`,
      targetId: before.id,
      detail: { reason, before: shown(before), after: shown(account!) },
    });
    ctx.body = renderAccount(account!);
  };
}

/** The account in the path. Raises not_found. */
export async function accountInPath(ctx: Context, deps: ConsoleDeps): Promise<Account> {
  const { account } = await deps.peers.auth.getAccount({ accountId: String(ctx['params'].account) }, contextOf(deps));
  return account!;
}
