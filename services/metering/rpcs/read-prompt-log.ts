// ReadPromptLog: the prompt and the answer of one call, for users with a role in its project.
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import type { ReadPromptLogRequest, ReadPromptLogResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { assertMayRead } from '../prompt-log/assert-may-read.js';
import { requireId } from '../requests/validate-call.js';

/** Responds after the audit event is stored. Raises not_found and role_not_permitted. */
export async function readPromptLog(
  { accountId, callId }: ReadPromptLogRequest,
  context: CallContext,
  { audit, db, promptLogs }: RpcDeps,
): Promise<ReadPromptLogResponse> {
  requireId('acct', accountId, 'account_id');
  requireId('req', callId, 'call_id');
  const found = await promptLogs?.find(callId);
  assertMayRead(found, accountId, context);
  const log = await promptLogs!.open(callId, accountId);
  if (log === undefined) throw fault('no_such_id', { what: 'prompt_log' });
  const event = { action: 'prompt_log.read', accountId, targetId: callId, detail: { project: found.projectId } };
  await db.plainTransaction((tx) => audit.appendRecords(tx, [audit.record(context, event)]));
  audit.wake();
  return { log, expiresAtMs: BigInt(found.expiresAtMs) };
}
