// UpdateCaller: replaces the grants and the account limit of a caller.
import { changedFields } from '#kit/audit/audit-event.js';
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { Caller, UpdateCallerRequest, UpdateCallerResponse } from '#proto/auth/v1/callers.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { CallerDeps } from '../deps.js';
import { checkedAccountLimit, checkedGrants } from '../fields.js';

/** Raises invalid_request, not_found, and failed_precondition when the caller is revoked or has changed since the given version. */
export async function updateCaller(request: UpdateCallerRequest, context: CallContext, deps: CallerDeps): Promise<UpdateCallerResponse> {
  const { callers, accounts, audit, feed, log } = deps;
  const grants = checkedGrants(request.grants);
  const accountLimit = checkedAccountLimit(request.accountLimit);
  for (const id of accountLimit?.accountIds ?? []) found(await accounts.find(accountIdBytes(id)), 'account');
  let previous: Caller | undefined;
  const changed = await callers.change(
    request.name,
    (before) => {
      if (before.revokedAtMs !== undefined) throw new AppError('failed_precondition', `"${before.name}" is revoked; add it again instead.`);
      if (before.version !== request.version)
        throw new AppError('failed_precondition', `"${before.name}" has changed in the meantime; read it again and repeat the change.`);
      previous = before;
      return { ...before, grants, accountLimit };
    },
    (tx, after) =>
      audit.append(tx, context, {
        action: 'caller.update',
        targetId: after.name,
        detail:
          changedFields(
            { grants: previous!.grants, account_ids: previous!.accountLimit?.accountIds },
            { grants, account_ids: accountLimit?.accountIds },
          ) ?? {},
      }),
  );
  const caller = found(changed, 'caller');
  feed.wake();
  log.info({ caller_name: caller.name, grants }, 'caller updated');
  return { caller };
}
