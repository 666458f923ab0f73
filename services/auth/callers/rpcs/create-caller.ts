// CreateCaller: adds a process outside the installation as a caller.
import type { CallContext } from '#client/call-context.js';
import type { CreateCallerRequest, CreateCallerResponse } from '#proto/auth/v1/callers.js';
import { accountIdBytes } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { CallerDeps } from '../deps.js';
import { checkedAccountLimit, checkedCallerName, checkedCertificate, checkedGrants, checkedIdentity } from '../fields.js';

/** Raises invalid_request, already_exists, not_found (an account), and failed_precondition when there are too many callers. */
export async function createCaller(request: CreateCallerRequest, context: CallContext, deps: CallerDeps): Promise<CreateCallerResponse> {
  const { callers, accounts, audit, feed, clock, log } = deps;
  const name = checkedCallerName(request.name);
  const grants = checkedGrants(request.grants);
  const accountLimit = checkedAccountLimit(request.accountLimit);
  const identity = checkedIdentity(request.identity, name);
  const nowMs = clock.nowMs();
  const certificates = request.certificate === undefined ? [] : [checkedCertificate(request.certificate, nowMs)];
  for (const id of accountLimit?.accountIds ?? []) found(await accounts.find(accountIdBytes(id)), 'account');
  const caller = await callers.add(
    {
      name,
      identity,
      grants,
      accountLimit,
      certificates,
      createdAtMs: BigInt(nowMs),
      rotatedAtMs: undefined,
      revokedAtMs: undefined,
      lastSeenAtMs: undefined,
      version: 0n,
    },
    (tx) =>
      audit.append(tx, context, {
        action: 'caller.create',
        targetId: name,
        detail: { identity, grants, account_ids: accountLimit?.accountIds },
      }),
  );
  feed.wake();
  log.info({ caller_name: name, grants }, 'caller created');
  return { caller };
}
