// DeleteStoredParts: deletes parts of stored responses by their names.
import type { CallContext } from '#client/call-context.js';
import type { DeleteStoredPartsRequest, DeleteStoredPartsResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireId, requireNames } from '../requests/validate-call.js';
import { bytesOf } from '../store/records/record-rows.js';
import { deleteParts } from '../store/keyed-calls/stored-parts.js';

/** Responds after the commit. */
export async function deleteStoredParts(
  request: DeleteStoredPartsRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<DeleteStoredPartsResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireNames(request.nameHashes, 'name_hashes');
  await deleteParts(db, bytesOf('acct', request.accountId), request.nameHashes);
  return {};
}
