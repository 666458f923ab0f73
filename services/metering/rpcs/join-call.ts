// JoinCall: returns the state of the call that was offered to a retry.
import type { CallContext } from '#client/call-context.js';
import { idFromBytes } from '#kit/id.js';
import type { JoinCallRequest, JoinCallResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireHash, requireId } from '../requests/validate-call.js';
import { isRunning } from '../store/keyed-calls/expired-keys.js';
import { awaitKey, findKey, type KeyRow, KeyState } from '../store/keyed-calls/keyed-calls.js';
import { bytesOf } from '../store/records/record-rows.js';
import { findRecord } from '../store/records/records.js';
import { findAnswer } from '../store/keyed-calls/stored-answers.js';

/** How long a retry counts as waiting after a JoinCall; its gateway repeats the RPC more often than that. */
const awaitedMs = 3000;

/** Returns no result when no call is offered, or when its answer is not stored. */
export async function joinCall(request: JoinCallRequest, _context: CallContext, deps: RpcDeps): Promise<JoinCallResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireHash(request.keyHash, 'key_hash');
  const { db, clock, grace } = deps;
  const nowMs = clock.nowMs();
  const key = await db.plainTransaction(async (tx) => {
    const found = await findKey(tx, bytesOf('acct', request.accountId), request.keyHash);
    if (found?.state !== KeyState.running) return found;
    if (!(await isRunning(tx, found, nowMs, grace.isOn()))) return undefined;
    await awaitKey(tx, found, nowMs + awaitedMs);
    return found;
  });
  if (key === undefined || (key.state !== KeyState.running && key.expiresAtMs <= nowMs)) return { result: undefined };
  const callId = idFromBytes('req', key.callId);
  if (key.state === KeyState.running) return { result: { $case: 'inProgress', value: { callId } } };
  return { result: key.state === KeyState.kept ? await completed(callId, key, deps) : undefined };
}

async function completed(callId: string, key: KeyRow, { db }: RpcDeps): Promise<JoinCallResponse['result']> {
  const [record, answer] = [await findRecord(db, callId), await findAnswer(db, key.accountId, key.keyHash)];
  if (answer === undefined) return undefined;
  // The answer was offered while the report waits in the gateway's spool.
  if (record === undefined) return { $case: 'inProgress', value: { callId } };
  return { $case: 'completed', value: { record, answer } };
}
