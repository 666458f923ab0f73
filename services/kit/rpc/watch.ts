// Follows a server stream: reconnects with backoff and reports whether the channel is alive.
import { everyAbout } from '../scheduling/shared-timers.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import type { Logger } from '../log.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';

const backoffMsMin = 50;
const backoffMsMax = 1000;

/** A followed stream. */
export interface Watch {
  /** True while messages or heartbeats arrive; false when nothing has arrived for two heartbeats. */
  isLive(): boolean;
  /** How long ago the last message arrived, in milliseconds; undefined: none has arrived. */
  silentMs(): number | undefined;
  /** Resolves when the loop has ended. */
  stop(): Promise<void>;
}

/** The state of a followed stream. */
export interface FeedState {
  readonly live: boolean;
  /** How long ago the last message arrived, in whole milliseconds; undefined: none has arrived. */
  readonly silentMs: number | undefined;
}

/** Returns the state of a stream that may not be followed yet. */
export function feedState(following: Watch | undefined): FeedState {
  const silentMs = following?.silentMs();
  return { live: following?.isLive() === true, silentMs: silentMs === undefined ? undefined : Math.round(silentMs) };
}

/** Options of `watch`. */
export interface WatchOptions<Message> {
  /** For logs. */
  name: string;
  /** The name under which this process calls. */
  caller: string;
  /** Opens the stream. */
  open(context: CallContext): AsyncIterable<Message>;
  /** Called for every message; `isFirst` for the first of each connection. */
  onMessage(message: Message, isFirst: boolean): void;
  /** Returns the longest silence to expect, in milliseconds. */
  heartbeatMsOf(message: Message): number;
  clock: Clock;
  log: Logger;
}

/** Starts following, and continues until stopped. */
export function watch<Message>(options: WatchOptions<Message>): Watch {
  const { name, clock, log } = options;
  const stopping = new AbortController();
  let lastMessageAtMs = Number.NEGATIVE_INFINITY;
  let heartbeatMs = 0;
  let beganAtMs = 0;
  let connection = new AbortController();
  const isLive = (): boolean => clock.monotonicMs() - lastMessageAtMs <= 2 * heartbeatMs;

  async function follow(): Promise<void> {
    connection = new AbortController();
    let isFirst = true;
    const signal = AbortSignal.any([stopping.signal, connection.signal]);
    for await (const message of options.open(callContext({ caller: options.caller, signal }))) {
      heartbeatMs = Math.max(1, options.heartbeatMsOf(message));
      options.onMessage(message, isFirst);
      // Only after the message was handled: a message that could not be processed does not count as received.
      lastMessageAtMs = clock.monotonicMs();
      isFirst = false;
    }
  }

  // A connection can be lost without an error; one that stays silent for eight heartbeats is closed and opened again.
  const stopWatchdog = everyAbout(1000, () => {
    if (heartbeatMs > 0 && clock.monotonicMs() - Math.max(beganAtMs, lastMessageAtMs) > 8 * heartbeatMs)
      connection.abort(new AppError('service_unavailable', 'Nothing arrived for eight heartbeats.'));
  });

  async function run(): Promise<void> {
    let backoffMs = backoffMsMin;
    let isReported = false;
    while (!stopping.signal.aborted) {
      beganAtMs = clock.monotonicMs();
      try {
        await follow();
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (!isReported) log.warn({ err: error, watch: name }, 'a watched stream broke; reconnecting');
        isReported = true;
      }
      if (lastMessageAtMs > beganAtMs) {
        backoffMs = backoffMsMin;
        isReported = false;
      }
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      backoffMs = Math.min(backoffMsMax, backoffMs * 2);
    }
  }

  const ended = run();
  return {
    isLive,
    silentMs: () => (lastMessageAtMs === Number.NEGATIVE_INFINITY ? undefined : clock.monotonicMs() - lastMessageAtMs),
    async stop() {
      stopWatchdog();
      stopping.abort();
      await ended;
    },
  };
}
