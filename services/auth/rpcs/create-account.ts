// CreateAccount: adds an active account.
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type Account, AccountState, CreateAccountRequest, type CreateAccountResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { checkedName } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { accountRateLimitWords, checkedAccountRateLimits } from '../requests/rate-limits.js';
import { defaultTimeZone } from '../requests/time-zone.js';
import { firstOrRepeat, repeatableCall } from '../requests/repeat.js';

/** Creates an account; a repeat returns the first one. Raises invalid_request and idempotency_mismatch. */
export async function createAccount(request: CreateAccountRequest, context: CallContext, deps: RpcDeps): Promise<CreateAccountResponse> {
  const { accounts, audit, clock, feed, idempotency, log } = deps;
  const name = checkedName(request.name);
  const rateLimits = checkedAccountRateLimits(request.rateLimits);
  const canonical = CreateAccountRequest.encode({ name, idempotencyKey: '', rateLimits }).finish();
  const call = repeatableCall('create_account', request.idempotencyKey, canonical);

  const create = async (): Promise<Account | undefined> => {
    const nowMs = clock.nowMs();
    const account: Account = {
      id: newId('acct', nowMs),
      name,
      state: AccountState.ACCOUNT_STATE_ACTIVE,
      createdAtMs: BigInt(nowMs),
      version: 1n,
      stateReason: '',
      rateLimits,
      budgets: [],
      timeZone: defaultTimeZone,
      neverLogPrompts: false,
      requireSecondFactor: false,
    };
    const limitsDetail = rateLimits === undefined ? {} : { rate_limits: accountRateLimitWords(rateLimits) };
    const event = { action: 'account.create', accountId: account.id, targetId: account.id, detail: { name, ...limitsDetail } };
    if (!(await accounts.add(account, call, (tx) => audit.append(tx, context, event)))) return undefined;
    feed.wake();
    log.info({ account_id: account.id }, 'account created');
    return account;
  };
  return { account: await firstOrRepeat(call, idempotency, create, async (id) => found(await accounts.find(id), 'account')) };
}
