// ListRedemptionCodes: codes without their secrets, newest first.
import type { CallContext } from '#client/call-context.js';
import { type ListRedemptionCodesRequest, type ListRedemptionCodesResponse, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { toCodeMessage } from '../codes/message.js';
import type { RpcDeps } from '../deps.js';
import { checkedCount, checkedId, invalidField } from '../requests/fields.js';

/** A page token is the id of the last code of the previous page. Raises invalid_request. */
export async function listRedemptionCodes(
  request: ListRedemptionCodesRequest,
  _context: CallContext,
  { codes }: RpcDeps,
): Promise<ListRedemptionCodesResponse> {
  const pageSize = checkedCount('page_size', request.pageSize, { min: 1, max: 500, default: 50 });
  const before = request.pageToken === '' ? undefined : checkedId('page_token', 'code', request.pageToken);
  const { state, batchId } = request;
  if (RedemptionCodeState[state] === undefined) throw invalidField('state', 'a state of codes');
  if (batchId !== '') checkedId('batch_id', 'batch', batchId);
  const found = await codes.before(before, { state, batchId }, pageSize + 1);
  const page = found.slice(0, pageSize);
  return { codes: page.map(toCodeMessage), nextPageToken: found.length > pageSize ? page.at(-1)!.id : '' };
}
