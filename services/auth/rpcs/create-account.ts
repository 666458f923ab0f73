// CreateAccount: adds an active account.
import type { CallContext } from '#client/call-context.js';
import { type Account, CreateAccountRequest, type CreateAccountResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { newAccountOf } from '../new-account.js';
import { checkedName } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { accountRateLimitWords, checkedAccountRateLimits } from '../requests/rate-limits.js';
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
    const account: Account = { ...newAccountOf(name, nowMs), rateLimits };
    const limitsDetail = rateLimits === undefined ? {} : { rate_limits: accountRateLimitWords(rateLimits) };
    const event = { action: 'account.create', accountId: account.id, targetId: account.id, detail: { name, ...limitsDetail } };
    if (!(await accounts.add(account, call, (tx) => audit.append(tx, context, event)))) return undefined;
    feed.wake();
    log.info({ account_id: account.id }, 'account created');
    return account;
  };
  return { account: await firstOrRepeat(call, idempotency, create, async (id) => found(await accounts.find(id), 'account')) };
}
