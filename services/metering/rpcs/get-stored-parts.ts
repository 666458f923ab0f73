// GetStoredParts: returns parts of stored responses by their names.
import type { CallContext } from '#client/call-context.js';
import type { GetStoredPartsRequest, GetStoredPartsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireId, requireNames } from '../requests/validate-call.js';
import { bytesOf } from '../store/records/record-rows.js';
import { findParts } from '../store/keyed-calls/stored-parts.js';

/** Leaves out parts that do not exist. Raises invalid_request. */
export async function getStoredParts(
  request: GetStoredPartsRequest,
  _context: CallContext,
  { db, clock }: RpcDeps,
): Promise<GetStoredPartsResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireNames(request.nameHashes, 'name_hashes');
  const { accountId, nameHashes, keptMs } = request;
  return findParts(db, bytesOf('acct', accountId), nameHashes, { nowMs: clock.nowMs(), keptMs });
}
