// GetRefusal: one refused call by request id.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetRefusalRequest, GetRefusalResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireId } from '../requests/validate-call.js';
import { findRefusal } from '../store/refusal-queries.js';

/** Raises not_found if none is stored, or if it belongs to another account than the requested one. */
export async function getRefusal(request: GetRefusalRequest, _context: CallContext, { db }: RpcDeps): Promise<GetRefusalResponse> {
  const { requestId, accountId } = request;
  requireId('req', requestId, 'request_id');
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  const refusal = await findRefusal(db, requestId);
  if (refusal === undefined || (accountId !== '' && refusal.accountId !== accountId)) throw fault('no_such_id', { what: 'refusal' });
  return { refusal };
}
