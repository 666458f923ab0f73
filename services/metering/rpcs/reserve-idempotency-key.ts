// ReserveIdempotencyKey: reserves an idempotency key for a call, or returns the state of the call that has it.
import { isDuplicate } from '#kit/db/errors.js';
import type { CallContext } from '#client/call-context.js';
import { idFromBytes } from '#kit/id.js';
import {
  type ReserveIdempotencyKeyRequest,
  type ReserveIdempotencyKeyResponse,
  ReserveIdempotencyKeyResponse_Cause as Cause,
} from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import type { KeyOutcome } from '../keyed-calls/key-lane.js';
import { findAnswer } from '../store/keyed-calls/stored-answers.js';
import { type KeyRow, KeyState } from '../store/keyed-calls/keyed-calls.js';
import { bytesOf } from '../store/records/record-rows.js';
import { findRecord } from '../store/records/records.js';
import { requireHash, requireId } from '../requests/validate-call.js';

const attemptsMax = 5;

type Result = NonNullable<ReserveIdempotencyKeyResponse['result']>;

/** Responds after the commit. Raises overloaded when no more responses can be stored. */
export async function reserveIdempotencyKey(
  request: ReserveIdempotencyKeyRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<ReserveIdempotencyKeyResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireId('req', request.callId, 'call_id');
  requireHash(request.keyHash, 'key_hash');
  requireHash(request.fingerprint, 'fingerprint');
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await reserve(request, context, deps, attempt);
    if (outcome?.kind === 'full') throw outcome.error;
    if (outcome?.kind === 'begun') return { result: { $case: 'reserved', value: {} } };
    const result = outcome === undefined ? undefined : await resultOf(outcome.by, request, deps);
    if (result !== undefined) return { result };
  }
}

/** Returns undefined when another replica was faster; the next attempt sees the key that it reserved. */
async function reserve(
  request: ReserveIdempotencyKeyRequest,
  context: CallContext,
  { keys }: RpcDeps,
  attempt: number,
): Promise<KeyOutcome | undefined> {
  const { keyHash, fingerprint } = request;
  try {
    return await keys.add(
      { accountId: bytesOf('acct', request.accountId), keyHash, fingerprint, callId: bytesOf('req', request.callId) },
      context,
    );
  } catch (error) {
    if (attempt < attemptsMax && isDuplicate(error)) return undefined;
    throw error;
  }
}

/** Returns the state of the call that has the key; undefined when the key has just expired. */
async function resultOf(key: KeyRow, request: ReserveIdempotencyKeyRequest, { db }: RpcDeps): Promise<Result | undefined> {
  const callId = idFromBytes('req', key.callId);
  if (!key.fingerprint.equals(request.fingerprint)) return { $case: 'mismatch', value: { callId } };
  switch (key.state) {
    case KeyState.running:
      return { $case: 'inProgress', value: { callId } };
    case KeyState.tooLarge:
      return { $case: 'answerUnavailable', value: { callId, cause: Cause.CAUSE_TOO_LARGE } };
    case KeyState.gatewayLost:
      return { $case: 'answerUnavailable', value: { callId, cause: Cause.CAUSE_GATEWAY_LOST } };
    case KeyState.kept: {
      const [record, answer] = [await findRecord(db, callId), await findAnswer(db, key.accountId, key.keyHash)];
      return record === undefined || answer === undefined ? undefined : { $case: 'completed', value: { record, answer } };
    }
  }
}
