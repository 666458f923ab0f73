// OfferCall: lets a retry of a request find the call of a client that disconnected before it received anything.
import { isDuplicate } from '#kit/db/errors.js';
import type { CallContext } from '#client/call-context.js';
import type { OfferCallRequest, OfferCallResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireHash, requireId, requireThat } from '../requests/validate-call.js';
import { bytesOf } from '../store/records/record-rows.js';

const keptMsMax = 3_600_000;

/** Responds after the commit. Raises overloaded when no more responses can be stored. */
export async function offerCall(request: OfferCallRequest, context: CallContext, { keys }: RpcDeps): Promise<OfferCallResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireId('req', request.callId, 'call_id');
  requireHash(request.keyHash, 'key_hash');
  const { keyHash, keptMs, answer } = request;
  requireThat(keptMs >= 1 && keptMs <= keptMsMax, 'kept_ms', `must be from 1 to ${keptMsMax}`);
  try {
    const outcome = await keys.add(
      // The hash covers the whole request, so it is its fingerprint too.
      {
        accountId: bytesOf('acct', request.accountId),
        keyHash,
        fingerprint: keyHash,
        callId: bytesOf('req', request.callId),
        offer: { keptMs, answer },
      },
      context,
    );
    if (outcome.kind === 'full') throw outcome.error;
    return outcome.kind === 'begun' ? { offered: true, awaited: outcome.isAwaited } : { offered: false, awaited: false };
  } catch (error) {
    // Another replica offered a call of the same request at the same moment.
    if (isDuplicate(error)) return { offered: false, awaited: false };
    throw error;
  }
}
