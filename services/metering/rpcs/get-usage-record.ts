// GetUsageRecord: one record by call id.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetUsageRecordRequest, GetUsageRecordResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { findRecord } from '../store/records.js';
import { requireId } from '../requests/validate-call.js';

/** Raises not_found if there is none, or if it belongs to another account than the requested one. */
export async function getUsageRecord(
  request: GetUsageRecordRequest,
  _context: CallContext,
  { db }: RpcDeps,
): Promise<GetUsageRecordResponse> {
  const { callId, accountId } = request;
  requireId('req', callId, 'call_id');
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  const record = await findRecord(db, callId);
  if (record === undefined || (accountId !== '' && record.call?.accountId !== accountId)) {
    throw fault('no_such_id', { what: 'usage_record' });
  }
  return { record };
}
