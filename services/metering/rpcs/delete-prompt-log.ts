// DeletePromptLog: deletes the prompt and the answer of one call.
import type { CallContext } from '#client/call-context.js';
import type { DeletePromptLogRequest, DeletePromptLogResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { assertMayRead } from '../prompt-log/assert-may-read.js';
import { requireId } from '../requests/validate-call.js';
import { deletePromptLogs } from '../store/prompt-logs.js';
import { bytesOf } from '../store/records/record-rows.js';

/** Raises not_found and role_not_permitted. */
export async function deletePromptLog(
  { accountId, callId }: DeletePromptLogRequest,
  context: CallContext,
  { audit, db, promptLogs }: RpcDeps,
): Promise<DeletePromptLogResponse> {
  requireId('acct', accountId, 'account_id');
  requireId('req', callId, 'call_id');
  const found = await promptLogs?.find(callId);
  assertMayRead(found, accountId, context);
  const event = { action: 'prompt_log.delete', accountId, targetId: callId, detail: { project: found.projectId } };
  await deletePromptLogs(db, bytesOf('acct', accountId), [bytesOf('req', callId)], (tx) =>
    audit.appendRecords(tx, [audit.record(context, event)]),
  );
  audit.wake();
  return {};
}
