// What travels beside a request through every RPC, local or remote.
import { AppError } from '../errors/app-error.js';

/** The circumstances of one RPC, the same type on the calling and on the serving side. */
export interface CallContext {
  /** Aborted when the caller leaves or the deadline passes. */
  readonly signal: AbortSignal;
  /** Instant (epoch milliseconds) after which nobody waits for the answer; absent: no deadline. */
  readonly deadlineMs?: number;
  /** Name of the calling process ("gateway", "metering", "operator" …) as the transport established it; peer policy reads it. */
  readonly caller: string;
}

/** Options of `callContext`. */
export interface CallContextOptions {
  /** Name under which this process calls. */
  caller: string;
  /** Give up after this many milliseconds. */
  timeoutMs?: number;
  /** Give up when this aborts. */
  signal?: AbortSignal;
}

/** A signal that nobody can abort, so nothing needs to listen to it. */
export const neverAborted = new AbortController().signal;

/** Why a producer is ended whose consumer left. One for all: a stack trace would cost more than the rest of leaving. */
export const consumerLeft = new AppError('cancelled', 'The consumer left.');

/** A context for an outgoing call. Without options beside `caller` it has no deadline and is never aborted. */
export function callContext(options: CallContextOptions): CallContext {
  const { caller, timeoutMs, signal } = options;
  if (timeoutMs === undefined) return { caller, signal: signal ?? neverAborted };
  const timeout = AbortSignal.timeout(timeoutMs);
  return {
    caller,
    deadlineMs: Date.now() + timeoutMs,
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  };
}
