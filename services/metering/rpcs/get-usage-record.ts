// GetUsageRecord: one record by call id.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { GetUsageRecordRequest, GetUsageRecordResponse } from '#proto/metering/v1/metering.js';
import { includesProject, projectsOf } from '#kit/rpc/access/projects.js';
import type { RpcDeps } from '../deps.js';
import { promptLogStateOf } from '../store/prompt-logs.js';
import { findRecord } from '../store/records/records.js';
import { requireId } from '../requests/validate-call.js';

/** Raises not_found if there is none, or if it belongs to another account than the requested one or to a project that the user may not see. */
export async function getUsageRecord(
  request: GetUsageRecordRequest,
  context: CallContext,
  { db, clock }: RpcDeps,
): Promise<GetUsageRecordResponse> {
  const { callId, accountId } = request;
  requireId('req', callId, 'call_id');
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  const record = await findRecord(db, callId);
  const call = record?.call;
  const isVisible = call !== undefined && includesProject(projectsOf(context, call.accountId, 'viewer'), call.projectId);
  if (!isVisible || (accountId !== '' && call.accountId !== accountId)) throw fault('no_such_id', { what: 'usage_record' });
  return { record: { ...record!, promptLog: await promptLogStateOf(db, record!, clock.nowMs()) } };
}
