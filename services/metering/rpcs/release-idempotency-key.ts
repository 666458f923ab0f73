// ReleaseIdempotencyKey: releases the key of a call that was refused before any request to an upstream, or of an offered call.
import type { CallContext } from '#client/call-context.js';
import type { ReleaseIdempotencyKeyRequest, ReleaseIdempotencyKeyResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { abandonKey, forgetKey } from '../store/keyed-calls/keyed-calls.js';
import { bytesOf } from '../store/records/record-rows.js';
import { requireHash, requireId } from '../requests/validate-call.js';

/** Does nothing when the key is not reserved for this call. */
export async function releaseIdempotencyKey(
  request: ReleaseIdempotencyKeyRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<ReleaseIdempotencyKeyResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireId('req', request.callId, 'call_id');
  requireHash(request.keyHash, 'key_hash');
  const release = request.ended ? forgetKey : abandonKey;
  await release(db, bytesOf('acct', request.accountId), request.keyHash, bytesOf('req', request.callId));
  return {};
}
