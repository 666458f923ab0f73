// JoinCall: returns the state of the call that a retry repeats.
import type { CallContext } from '#client/call-context.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { idFromBytes } from '#kit/id.js';
import type { JoinCallRequest, JoinCallResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { requireHash, requireId } from '../requests/validate-call.js';
import { isRunning } from '../store/keyed-calls/expired-keys.js';
import { awaitKey, findKey, type KeyRow, KeyState } from '../store/keyed-calls/keyed-calls.js';
import { findRetriedCall, type RetriedCall } from '../store/records/open-calls.js';
import { bytesOf } from '../store/records/record-rows.js';
import { findRecord } from '../store/records/records.js';
import { findAnswer } from '../store/keyed-calls/stored-answers.js';

/** How long a retry counts as waiting after a JoinCall; its gateway repeats the RPC more often than that. */
const awaitedMs = 3000;

/** Returns no result when no call is offered or in flight, or when its answer is not stored. */
export async function joinCall(request: JoinCallRequest, _context: CallContext, deps: RpcDeps): Promise<JoinCallResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireHash(request.keyHash, 'key_hash');
  const { db, clock, grace } = deps;
  const nowMs = clock.nowMs();
  const accountId = bytesOf('acct', request.accountId);
  const isUsable = (tx: PlainTransaction, key: KeyRow): boolean | Promise<boolean> =>
    key.state === KeyState.running ? isRunning(tx, key, nowMs, grace.isOn()) : key.state === KeyState.kept && key.expiresAtMs > nowMs;
  const { key, inFlight } = await db.plainTransaction(async (tx) => {
    const found = await findKey(tx, accountId, request.keyHash);
    if (found === undefined || !(await isUsable(tx, found))) return { inFlight: await findRetriedCall(tx, accountId, request.keyHash) };
    if (found.state === KeyState.running) await awaitKey(tx, found, nowMs + awaitedMs);
    return { key: found };
  });
  if (key === undefined) return { result: inFlight && notOffered(inFlight, nowMs) };
  const callId = idFromBytes('req', key.callId);
  if (key.state === KeyState.running) return { result: { $case: 'inProgress', value: { callId } } };
  return { result: await completed(callId, key, deps) };
}

function notOffered({ callId, lastSeenAtMs }: RetriedCall, nowMs: number): JoinCallResponse['result'] {
  // Another replica's clock may be ahead.
  return { $case: 'notOffered', value: { callId, checkpointAgeMs: Math.max(0, nowMs - lastSeenAtMs) } };
}

async function completed(callId: string, key: KeyRow, { db }: RpcDeps): Promise<JoinCallResponse['result']> {
  const [record, answer] = [await findRecord(db, callId), await findAnswer(db, key.accountId, key.keyHash)];
  if (answer === undefined) return undefined;
  // The answer was offered while the report waits in the gateway's spool.
  if (record === undefined) return { $case: 'inProgress', value: { callId } };
  return { $case: 'completed', value: { record, answer } };
}
