// Reports the usage so far of every call in flight to metering, in one request per second for all calls, so that a call whose gateway
// crashes is charged for what it had used, and so that its hold does not expire while it runs.
import type { Span } from '@opentelemetry/api';
import { everyAbout } from '#kit/scheduling/shared-timers.js';
import { whenSocketsRead } from '#kit/scheduling/turn.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { Call, CheckpointUsageRequest_Item } from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { InFlight } from '#client/in-flight.js';
import { inBatchSpan } from '#kit/telemetry/traces/batch-span.js';
import { recordedSpan } from '#kit/telemetry/traces/recorded-trace.js';
import type { GatewayPeers } from '../../peers.js';

/** Items per request; more calls in flight are reported in several requests. */
const itemsMax = 1000;
/** How long one request may occupy the event loop with hashes of requests. The other calls get theirs with their next checkpoint. */
const hashingMsMax = 20;

/** A call in flight as the checkpoints see it. */
interface OpenCall {
  readonly call: Call;
  /** Returns the usage so far. */
  readonly tokens: () => TokenCounts;
  /** Returns the hash with which retries at other gateways look for the call, unless none may join it. */
  readonly retryKeyHash?: () => Buffer | undefined;
  /** Called if metering has already closed the call: it must end, for the given reason. */
  readonly onClosed: (error: AppError) => void;
}

/** A call among those in flight. */
interface CheckpointedCall {
  /** Notes that the report of the call is about to be sent, and returns whether no checkpoint named the call. */
  reporting(): boolean;
  /** Removes the call. */
  close(): void;
}

interface Tracked extends OpenCall {
  readonly number: number;
  /** Present when the trace of the call is recorded. */
  readonly span: Span | undefined;
  isCheckpointed: boolean;
  /** Metering need not remove the call if no checkpoint overtakes its report, so the first one after that leaves it out. */
  isSkippedOnce: boolean;
}

/** The calls in flight. */
export interface Checkpoints {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Adds a call. */
  open(call: OpenCall): CheckpointedCall;
  /** Returns the number of calls in flight. */
  count(): number;
  /** Whether this call is in flight here. */
  has(callId: string): boolean;
}

/** Creates the set of calls in flight, reported every `intervalMs`. */
export function createCheckpoints(deps: {
  metering: GatewayPeers['metering'];
  log: Logger;
  intervalMs: number;
  rpcTimeoutMs: number;
}): Checkpoints {
  const { metering, log, intervalMs, rpcTimeoutMs } = deps;
  const calls = new InFlight<Tracked>();
  let last = 0;
  let stopNoting = (): void => {};
  let isRunning = false;
  let isFailing = false;

  async function noteAll(): Promise<void> {
    if (isRunning || calls.size === 0) return;
    isRunning = true;
    // A gateway at which a retry waits concludes from a checkpoint that this one has read and reported all earlier disconnects.
    await new Promise<void>(whenSocketsRead);
    try {
      const open = calls.values();
      const all = open.filter((call) => !call.isSkippedOnce);
      for (const call of open) {
        if (!call.isSkippedOnce) call.isCheckpointed = true;
        call.isSkippedOnce = false;
      }
      for (let start = 0; start < all.length; start += itemsMax) await note(all.slice(start, start + itemsMax));
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error, calls: calls.size }, 'the usage so far could not be checkpointed; calls continue');
      isFailing = true;
    } finally {
      isRunning = false;
    }
  }

  async function note(batch: readonly Tracked[]): Promise<void> {
    const hashUntilMs = performance.now() + hashingMsMax;
    const { open } = await inBatchSpan(
      'batch checkpoints',
      batch.map(({ span }) => span),
      () =>
        metering.checkpointUsage(
          { items: batch.map((call) => itemOf(call, hashUntilMs)) },
          callContext({ caller: 'gateway', timeoutMs: rpcTimeoutMs }),
        ),
    );
    for (const [index, openCall] of batch.entries()) {
      // A call that ended while this request was in flight is expected to be closed.
      if (open[index] === false && calls.has(openCall.number)) {
        openCall.onClosed(new AppError('call_closed', 'The call was recorded as lost, or its hold no longer exists.'));
      }
    }
  }

  return {
    async start() {
      stopNoting = everyAbout(intervalMs, () => void noteAll());
    },
    async stop() {
      stopNoting();
    },
    open(call) {
      const tracked = { ...call, number: (last += 1), span: recordedSpan(), isCheckpointed: false, isSkippedOnce: false };
      calls.set(tracked.number, tracked);
      return {
        reporting() {
          tracked.isSkippedOnce = !tracked.isCheckpointed;
          return !tracked.isCheckpointed;
        },
        close: () => calls.delete(tracked.number),
      };
    },
    count: () => calls.size,
    has: (callId) => calls.values().some(({ call }) => call.id === callId),
  };
}

function itemOf({ call, tokens, retryKeyHash }: Tracked, hashUntilMs: number): CheckpointUsageRequest_Item {
  return { call: copyOf(call), tokens: tokens(), retryKeyHash: performance.now() < hashUntilMs ? retryKeyHash?.() : undefined };
}

/** Returns a copy of the call, because its attempts keep changing while the request is in flight. */
function copyOf(call: Call): Call {
  return { ...call, attempts: call.attempts.map((attempt) => ({ ...attempt })) };
}
