// RevokeCaller: revokes a caller permanently.
import type { CallContext } from '#client/call-context.js';
import type { RevokeCallerRequest, RevokeCallerResponse } from '#proto/auth/v1/callers.js';
import { found } from '../../requests/found.js';
import type { CallerDeps } from '../deps.js';

/** Revokes the caller; a revoked one is unchanged. Raises not_found. */
export async function revokeCaller(request: RevokeCallerRequest, context: CallContext, deps: CallerDeps): Promise<RevokeCallerResponse> {
  const { callers, audit, feed, clock, log } = deps;
  const revokedAtMs = BigInt(clock.nowMs());
  const changed = await callers.change(
    request.name,
    (before) => (before.revokedAtMs === undefined ? { ...before, revokedAtMs } : before),
    (tx, { name }) => audit.append(tx, context, { action: 'caller.revoke', targetId: name }),
  );
  const caller = found(changed, 'caller');
  feed.wake();
  log.info({ caller_name: caller.name }, 'caller revoked');
  return { caller };
}
