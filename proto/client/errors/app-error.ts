// The one error that is meant for somebody: thrown where the cause is known, untouched on the way, rendered once at the edge.
import { type Reason, reasons } from '#rules/reasons.js';
import type { Status } from './status.js';

/** Options of an `AppError`. */
export interface AppErrorOptions {
  /** Machine-readable particulars, for example { field: "messages" } or amounts as decimal integers. Safe to show. */
  details?: Readonly<Record<string, string>>;
  /** When a repeat may succeed; absent: no promise. */
  retryAfterMs?: number;
  /** What lies behind it; stays in this process. */
  cause?: unknown;
  /** It came from another service, which has logged what there was to log. */
  remote?: boolean;
}

/** An expected refusal or failure. Crosses every hop unchanged; anything else becomes `internal` with a fixed text. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly reason: Reason;
  /** gRPC status that goes with the reason. */
  readonly code: Status;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
  readonly remote: boolean;

  /** `message` is shown to callers: it names the fault and the fix, and never holds a secret. */
  constructor(reason: Reason, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.code = reasons[reason];
    this.details = options.details ?? {};
    this.remote = options.remote ?? false;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** The fixed text of faults that are ours and nobody else's business. */
export const internalMessage = 'Something went wrong on our side.';

/** The error as it may leave this process: an `AppError` as it is, an abort by its kind, all else hidden behind `internal`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // Aborts are told by name: DOMException is not of the same realm everywhere (Jest's is not).
  const name = typeof error === 'object' && error !== null ? (error as { name?: unknown }).name : undefined;
  if (name === 'AbortError') return new AppError('cancelled', 'The call was cancelled.', { cause: error });
  if (name === 'TimeoutError') return new AppError('deadline_exceeded', 'There was no answer in time.', { cause: error });
  return new AppError('internal', internalMessage, { cause: error });
}

/** Whether the error has this reason. */
export function hasReason(error: unknown, ...wanted: Reason[]): error is AppError {
  return error instanceof AppError && wanted.includes(error.reason);
}

/** Why a call whose signal is aborted has ended: out of time, or given up by its caller. */
export function abortError(signal: AbortSignal): AppError {
  return toAppError(signal.reason ?? { name: 'AbortError' });
}
