// Calls with an Idempotency-Key: at most one runs per key, and repeats get its answer. Such a call does not end when its client
// disconnects, because a client that sent a key will retry.
import { ReserveIdempotencyKeyResponse_Cause as Cause, type ReserveIdempotencyKeyResponse } from '#proto/metering/v1/metering.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { idTimeMs } from '#kit/id.js';
import { counter } from '#kit/telemetry/metrics.js';
import { type CallDeps, type CallRequest, type CallStep, meteredCall } from '../metered-call.js';
import { assertPermitted } from '../admission/model-checks.js';
import { AnswerKeeper, replayedCall } from './answer-keeper.js';
import { answerSecretOf, keyHashOf } from './key.js';

const retryAfterMs = 2000;
const retryAfterMsMax = 30_000;

const replays = counter({
  name: 'tollgate.calls.replayed',
  unit: '{call}',
  description: 'Requests with an idempotency key that got the stored answer of an earlier call.',
  by: 'gateway',
});

/** A key as received, and its request. */
interface KeyUse {
  readonly key: string;
  /** Keys of different endpoints are different keys. */
  readonly endpoint: string;
  readonly fingerprint: Buffer;
}

/** The steps of a call, and the id of the earlier request if its answer is replayed. */
export interface Begun {
  readonly steps: AsyncGenerator<CallStep, void, void>;
  readonly callId: string;
}

/** The calls with keys of one gateway. */
export interface KeyedCalls {
  /**
   * Runs the call, or replays the answer of the first call with this key. Throws idempotency_mismatch if that one was a different request,
   * idempotency_in_progress while it runs, idempotency_answer_gone if its answer was not kept, and service_unavailable if metering cannot determine
   * that.
   */
  begin(call: Omit<CallRequest, 'disconnected'>, use: KeyUse): Promise<Begun>;
  /** Returns the number of running calls, whether or not their clients are still connected. */
  count(): number;
  /** Cuts off the running calls. */
  stop(): void;
}

/** Creates the set of calls. */
export function createKeyedCalls(deps: CallDeps): KeyedCalls {
  const { config, log } = deps;
  const { metering } = deps.peers;
  const rpc = () => callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
  /** The running calls; each has its own controller. */
  const running = new Set<AbortController>();

  async function reserve(
    { id, key }: { id: string; key: CallRequest['key'] },
    keyHash: Buffer,
    fingerprint: Buffer,
  ): Promise<ReserveIdempotencyKeyResponse['result']> {
    try {
      return (await metering.reserveIdempotencyKey({ accountId: key.accountId, keyHash, fingerprint, callId: id }, rpc())).result;
    } catch (error) {
      if (!hasReason(error, 'service_unavailable', 'deadline_exceeded', 'cancelled', 'internal')) throw error;
      // The response was lost, but the reservation may exist.
      void abandon(id, key.accountId, keyHash);
      throw new AppError(
        'service_unavailable',
        'The gateway cannot determine now whether the Idempotency-Key was used before, so the call was not admitted. Nothing was charged.',
        { retryAfterMs, cause: error },
      );
    }
  }

  async function abandon(callId: string, accountId: string, keyHash: Buffer): Promise<void> {
    try {
      await metering.releaseIdempotencyKey({ callId, accountId, keyHash, ended: false }, rpc());
    } catch (error) {
      log.warn({ err: error, call_id: callId }, 'an idempotency key could not be released; it can be used again when its lease expires');
    }
  }

  async function* run(call: Omit<CallRequest, 'disconnected'>, keyHash: Buffer): AsyncGenerator<CallStep, void, void> {
    let isAdmitted = false;
    const breaking = new AbortController();
    running.add(breaking);
    try {
      // A client disconnect does not end it.
      const disconnected = new AbortController().signal;
      for await (const step of meteredCall({ ...call, disconnected, broken: breaking.signal }, deps)) {
        isAdmitted = true;
        yield step;
      }
    } catch (error) {
      // A call that was refused before anything was sent upstream leaves nothing behind, and the caller gets the error once it can retry.
      if (!isAdmitted) await abandon(call.id, call.key.accountId, keyHash);
      throw error;
    } finally {
      running.delete(breaking);
    }
  }

  return {
    async begin(call, { key, endpoint, fingerprint }) {
      assertMayReceiveAnswer(call, deps);
      const keyHash = keyHashOf(endpoint, key);
      const outcome = await reserve(call, keyHash, fingerprint);
      switch (outcome?.$case) {
        case 'reserved': {
          const answerSink = new AnswerKeeper(keyHash, answerSecretOf(key, call.id), config.keptAnswerBytesMax);
          return { steps: run({ ...call, answerSink }, keyHash), callId: call.id };
        }
        case 'completed': {
          const { record, answer } = outcome.value;
          const { id: callId, modelId } = record!.call!;
          await deps.limiter.admitReplay(call, modelId);
          replays.count();
          return {
            steps: replayedCall(record!, call.parsed.request.choices, answer, answerSecretOf(key, callId), config.keptAnswerBytesMax),
            callId,
          };
        }
        case 'inProgress':
          throw new AppError(
            'idempotency_in_progress',
            `The call with this Idempotency-Key, ${outcome.value.callId}, is in progress. Repeat the request to get its answer.`,
            {
              details: particulars(outcome.value.callId),
              retryAfterMs: likelyRestMs(outcome.value.callId, deps.clock.nowMs()),
            },
          );
        case 'mismatch':
          throw new AppError(
            'idempotency_mismatch',
            `The Idempotency-Key was already used for a different request, ${outcome.value.callId}. Use a new key for a new request.`,
            {
              details: particulars(outcome.value.callId),
            },
          );
        case 'answerUnavailable':
          throw answerGone(outcome.value.callId, outcome.value.cause);
        default:
          throw new Error('Metering returned no outcome of an idempotency key.');
      }
    },
    count: () => running.size,
    stop() {
      const why = new AppError('service_unavailable', 'The gateway was stopped before the answer was complete.', { retryAfterMs });
      for (const call of running) call.abort(why);
    },
  };
}

/** Returns how long a running call is likely to take: as long again as it has taken so far. */
function likelyRestMs(callId: string, nowMs: number): number {
  return Math.min(Math.max(nowMs - idTimeMs('req', callId), retryAfterMs), retryAfterMsMax);
}

/** Refuses the answer of a model that the key may not use. Answers of a removed model remain available. */
export function assertMayReceiveAnswer(
  request: Pick<CallRequest, 'key' | 'project' | 'parsed'>,
  { models }: Pick<CallDeps, 'models'>,
): void {
  try {
    assertPermitted(request, models.find(request.parsed.model));
  } catch (error) {
    if (!hasReason(error, 'model_unknown')) throw error;
  }
}

function answerGone(callId: string, cause: Cause): AppError {
  const why =
    cause === Cause.CAUSE_TOO_LARGE
      ? 'it was too large to be stored, or there was no room for it'
      : 'the gateway crashed during the call, and the part that was delivered was charged';
  return new AppError(
    'idempotency_answer_gone',
    `The call with this Idempotency-Key, ${callId}, has ended, and its answer cannot be returned again: ${why}. GET /v1/usage/${callId} shows what it cost. Use a new key to call again.`,
    {
      details: particulars(callId),
    },
  );
}

function particulars(callId: string): Record<string, string> {
  return { field: 'idempotency-key', original_request_id: callId };
}
