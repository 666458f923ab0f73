// A change of the settings of an account.
import type { CallContext } from '#client/call-context.js';
import { changedFields } from '#kit/audit/audit-event.js';
import type { Account } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { found } from './found.js';

/**
 * Stores what `change` makes of the account, with an audit event of the fields in `detailOf` that differ. Returns the account. `what` was changed, for
 * the log. Raises not_found.
 */
export async function changeAccount(
  id: Buffer,
  change: (before: Account) => Account,
  detailOf: (account: Account) => object,
  what: string,
  context: CallContext,
  { accounts, audit, feed, log }: RpcDeps,
): Promise<{ account: Account }> {
  const changed = await accounts.change(id, change, (tx, before, after) => {
    const detail = { name: after.name, ...changedFields(detailOf(before), detailOf(after)) };
    return audit.append(tx, context, { action: 'account.update', accountId: after.id, targetId: after.id, detail });
  });
  const account = found(changed, 'account');
  feed.wake();
  log.info({ account_id: account.id, version: account.version.toString() }, `${what} updated`);
  return { account };
}
