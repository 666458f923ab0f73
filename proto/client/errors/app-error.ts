// The error type that callers see: thrown where the cause is known, passed on unchanged, and rendered once at the edge.
import { type Reason, reasons } from '#rules/errors/reasons.js';
import type { Status } from './status.js';

/** Options of an `AppError`. */
export interface AppErrorOptions {
  /** Machine-readable details, for example { field: "messages" } or amounts as decimal integers. Safe to show. */
  details?: Readonly<Record<string, string>>;
  /** The delay after which a retry may succeed; absent: unknown. */
  retryAfterMs?: number;
  /** The underlying error, which never leaves this process. */
  cause?: unknown;
  /** Whether it was received from another service, which has already logged it. */
  remote?: boolean;
}

/** An expected failure. Crosses every hop unchanged; any other error becomes `internal` with a fixed message. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly reason: Reason;
  /** The gRPC status for the reason. */
  readonly code: Status;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
  readonly remote: boolean;

  /** `message` is shown to callers: it names the fault and the fix, and never contains a secret. */
  constructor(reason: Reason, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.code = reasons[reason];
    this.details = options.details ?? {};
    this.remote = options.remote ?? false;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** The fixed message of internal errors. */
export const internalMessage = 'Something went wrong on our side.';

/**
 * Returns the error as it may leave this process: an `AppError` unchanged, an abort as cancelled, a timeout as deadline_exceeded, and any
 * other error hidden behind `internal`.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // Aborts are recognised by name: DOMException is not from the same realm everywhere (Jest's is not).
  const name = typeof error === 'object' && error !== null ? (error as { name?: unknown }).name : undefined;
  if (name === 'AbortError') return new AppError('cancelled', 'The call was cancelled.', { cause: error });
  if (name === 'TimeoutError') return new AppError('deadline_exceeded', 'There was no response in time.', { cause: error });
  return new AppError('internal', internalMessage, { cause: error });
}

/** Reports whether the error has one of these reasons. */
export function hasReason(error: unknown, ...wanted: Reason[]): error is AppError {
  return error instanceof AppError && wanted.includes(error.reason);
}

/** Returns the error of a call whose signal has aborted: the signal's reason, as `toAppError` converts it. */
export function abortError(signal: AbortSignal): AppError {
  return toAppError(signal.reason ?? { name: 'AbortError' });
}
