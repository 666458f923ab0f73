// Retries of client libraries that announce them: a retry gets the answer of the call that it repeats, which is charged once, if the client of that
// call disconnected before it received anything.
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import type { JoinCallResponse_NotOffered } from '#proto/metering/v1/metering.js';
import { replayedCall } from '../idempotency/answer-keeper.js';
import { answerSecretOf, keyHashOf } from '../idempotency/key.js';
import { assertMayReceiveAnswer, type Begun } from '../idempotency/keyed-calls.js';
import { type CallDeps, type CallRequest, meteredCall } from '../metered-call.js';
import { type Later, OfferedCall, type OfferKey, type Offers, type RetryingClient } from './offered-call.js';
import { type RepeatedRequest, retryKeyOf } from './retry-key.js';

/** How long an answer is kept if the call ended before the retry of its client arrived. */
const keptMs = 60_000;
const firstPollMs = 100;
/** After a pause of their machine, other gateways have usually read the disconnects of their clients and offered their calls within this time. */
const secondLookMs = 100;
const pollMsMax = 500;
const retryAfterMs = 1000;

/** The client of a request as it is known from the request. */
export interface RequestClient extends RetryingClient, Omit<RepeatedRequest, 'parsed'> {
  /** Calls back when the whole answer was sent before the client disconnected. */
  onDelivered(note: () => void): void;
}

/** The calls of one gateway that retries may join. */
export interface Retries {
  /** Runs the call, or returns the answer of the call that it repeats. Throws service_unavailable if metering cannot determine that. */
  begin(call: Omit<CallRequest, 'disconnected'>, client: RequestClient): Begun | Promise<Begun>;
  /** Ends the calls that wait for a retry, and lets no further calls wait. */
  close(): void;
}

const byTimer: Later = (ms, act) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

/** Creates the set of calls. */
export function createRetries(deps: CallDeps, later: Later = byTimer): Retries {
  const { config, log, peers, clock, checkpoints } = deps;
  const { metering } = peers;
  const rpc = (signal?: AbortSignal) =>
    callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs, ...(signal === undefined ? {} : { signal }) });
  /** The running calls that were offered. Identical requests at the same time have several. */
  const waiting = new Set<OfferedCall>();
  let isClosed = false;

  const offers: Offers = {
    add(call) {
      if (isClosed || (waiting.size >= config.readOnCallsMax && !waiting.has(call))) return false;
      waiting.add(call);
      return true;
    },
    remove: (call) => void waiting.delete(call),
    async offer(call, answer) {
      try {
        const { id: callId, accountId } = call;
        return await metering.offerCall({ accountId, keyHash: call.key.keyHash, callId, keptMs, answer }, rpc());
      } catch (error) {
        log.warn({ err: error, call_id: call.id }, 'a call could not be offered to a retry at another gateway');
        return { offered: false, awaited: false };
      }
    },
    withdraw: ({ id, accountId, key }) => void release(id, accountId, key.keyHash, false),
    release: ({ id, accountId, key }) => void release(id, accountId, key.keyHash, true),
    later,
  };

  /** Releases the key of a call whose answer was delivered, or of a call that is recorded without its key. */
  async function release(callId: string, accountId: string, keyHash: Buffer, wasDelivered: boolean): Promise<void> {
    try {
      await metering.releaseIdempotencyKey({ callId, accountId, keyHash, ended: wasDelivered }, rpc());
    } catch (error) {
      log.warn({ err: error, call_id: callId }, 'the key of a retried call could not be released; it expires');
    }
  }

  /** Returns the running call of this gateway that the request repeats. Of several, the first that has no client yet. */
  function runningCallOf(retryKey: string): OfferedCall | undefined {
    const all = [...waiting].filter(({ key }) => key.key === retryKey);
    return all.find(({ hasClient }) => !hasClient) ?? all[0];
  }

  function run(call: Omit<CallRequest, 'disconnected'>, client: RequestClient): Begun {
    const { id, key, parsed } = call;
    const keyOf = (): OfferKey => {
      const retryKey = retryKeyOf({ ...client, parsed });
      return { key: retryKey, keyHash: keyHashOf(`retry of ${client.format}`, retryKey), secret: answerSecretOf(retryKey, id) };
    };
    const answerSink = new OfferedCall(id, key.accountId, client, parsed.streaming, keyOf, offers, config);
    return { steps: meteredCall({ ...call, disconnected: answerSink.disconnected, answerSink }, deps), callId: id };
  }

  async function joinOrRun(call: Omit<CallRequest, 'disconnected'>, client: RequestClient): Promise<Begun> {
    assertMayReceiveAnswer(call, deps);
    const joined = await join(call, client, retryKeyOf({ ...client, parsed: call.parsed }));
    if (client.disconnected.aborted) throw new AppError('cancelled', 'The client disconnected.');
    return joined ?? run(call, client);
  }

  async function join(call: Omit<CallRequest, 'disconnected'>, client: RequestClient, retryKey: string): Promise<Begun | undefined> {
    const { accountId } = call.key;
    const keyHash = keyHashOf(`retry of ${client.format}`, retryKey);
    const sinceMs = clock.monotonicMs();
    let isSecondLook = false;
    for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, pollMsMax)) {
      const running = runningCallOf(retryKey);
      if (running !== undefined) {
        client.onDelivered(() => void running.noteDelivered());
        return { steps: running.join(client), callId: running.id };
      }
      const waitedMs = clock.monotonicMs() - sinceMs;
      const result = await stateOf(accountId, keyHash, client);
      if (result === undefined || (result.$case === 'notOffered' && !mayBeOffered(result.value, waitedMs))) {
        // This gateway may have read the first client's disconnect while metering was being queried.
        if (runningCallOf(retryKey) !== undefined) continue;
        if (isSecondLook) return undefined;
        isSecondLook = true;
        await pause(secondLookMs, client.disconnected);
        continue;
      }
      if (result.$case === 'completed') {
        const { record, answer } = result.value;
        const callId = record!.call!.id;
        client.onDelivered(() => void release(callId, accountId, keyHash, true));
        const { choices } = call.parsed.request;
        const steps = replayedCall(record!, choices, answer, answerSecretOf(retryKey, callId), config.keptAnswerBytesMax);
        return { steps, callId };
      }
      if (waitedMs > config.callTimeoutMs) {
        const { callId } = result.value;
        throw new AppError('idempotency_in_progress', `The call that this request repeats, ${callId}, is in progress.`, {
          details: { original_request_id: callId },
          retryAfterMs,
        });
      }
      isSecondLook = false;
      await pause(pollMs, client.disconnected);
    }
  }

  /**
   * Whether the gateway of a call in flight may be paused, and so may not have noticed yet that its client has disconnected: it has sent no checkpoint
   * since the retry arrived, but not for so long that it has probably crashed.
   */
  function mayBeOffered({ callId, checkpointAgeMs }: JoinCallResponse_NotOffered, waitedMs: number): boolean {
    if (checkpoints.has(callId)) return false;
    return checkpointAgeMs >= waitedMs && checkpointAgeMs < config.retryWaitMs + config.checkpointIntervalMs;
  }

  function pause(ms: number, disconnected: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel();
        reject(new AppError('cancelled', 'The client disconnected.'));
      };
      const cancel = later(ms, () => {
        disconnected.removeEventListener('abort', end);
        resolve();
      });
      if (disconnected.aborted) end();
      else disconnected.addEventListener('abort', end, { once: true });
    });
  }

  async function stateOf(accountId: string, keyHash: Buffer, { disconnected }: RequestClient) {
    try {
      return (await metering.joinCall({ accountId, keyHash }, rpc(disconnected))).result;
    } catch (error) {
      throw new AppError(
        'service_unavailable',
        'The gateway cannot determine now whether this retry repeats a call in progress, so it was not admitted. Nothing was charged.',
        { retryAfterMs, cause: error },
      );
    }
  }

  return {
    begin(call, client) {
      return client.retryCount === 0 ? run(call, client) : joinOrRun(call, client);
    },
    close() {
      isClosed = true;
      for (const call of waiting) call.abandon();
    },
  };
}
