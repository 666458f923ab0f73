// Reserves an idempotency key for a call, or tells what became of the call that came first.
import { isDuplicate } from '#kit/db/errors.js';
import type { CallContext } from '#kit/rpc/call-context.js';
import { idFromBytes } from '#kit/id.js';
import {
  type BeginKeyedCallRequest,
  type BeginKeyedCallResponse,
  BeginKeyedCallResponse_Cause as Cause,
} from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import type { KeyOutcome } from '../key-lane.js';
import { findAnswer } from '../store/kept-answers.js';
import { type KeyRow, KeyState } from '../store/keyed-calls.js';
import { bytesOf } from '../store/record-rows.js';
import { findRecord } from '../store/records.js';
import { requireHash, requireId } from '../validate-call.js';

const attemptsMax = 5;

type Outcome = NonNullable<BeginKeyedCallResponse['outcome']>;

/** Answers after the commit. Raises overloaded when no more answers can be kept. */
export async function beginKeyedCall(request: BeginKeyedCallRequest, context: CallContext, deps: RpcDeps): Promise<BeginKeyedCallResponse> {
  requireId('acct', request.accountId, 'account_id');
  requireId('req', request.callId, 'call_id');
  requireHash(request.keyHash, 'key_hash');
  requireHash(request.fingerprint, 'fingerprint');
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await ask(request, context, deps, attempt);
    if (outcome?.kind === 'full') throw outcome.error;
    if (outcome?.kind === 'begun') return { outcome: { $case: 'begun', value: {} } };
    const told = outcome === undefined ? undefined : await tell(outcome.by, request, deps);
    if (told !== undefined) return { outcome: told };
  }
}

/** Undefined when another replica was faster; the next look sees what it did. */
async function ask(
  request: BeginKeyedCallRequest,
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

/** What became of the call that has the key; undefined when its time ended just now. */
async function tell(key: KeyRow, request: BeginKeyedCallRequest, { db }: RpcDeps): Promise<Outcome | undefined> {
  const callId = idFromBytes('req', key.callId);
  if (!key.fingerprint.equals(request.fingerprint)) return { $case: 'otherRequest', value: { callId } };
  switch (key.state) {
    case KeyState.running:
      return { $case: 'running', value: { callId } };
    case KeyState.tooLarge:
      return { $case: 'gone', value: { callId, cause: Cause.CAUSE_TOO_LARGE } };
    case KeyState.gatewayLost:
      return { $case: 'gone', value: { callId, cause: Cause.CAUSE_GATEWAY_LOST } };
    case KeyState.kept: {
      const [record, answer] = [await findRecord(db, callId), await findAnswer(db, key.accountId, key.callId)];
      return record === undefined || answer === undefined ? undefined : { $case: 'kept', value: { record, answer } };
    }
  }
}
