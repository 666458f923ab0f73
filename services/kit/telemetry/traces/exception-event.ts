// Failures as span events (https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-spans).
import type { Span } from '@opentelemetry/api';
import { AppError } from '#client/errors/app-error.js';

/**
 * Adds the failure to a span that is recorded. Only the message of an `AppError` is kept, because a driver or a library may quote customers' data in
 * its own; the stack trace shows where any other error was raised.
 */
export function addException(span: Span, error: unknown): void {
  if (!span.isRecording()) return;
  const root = error instanceof AppError && error.cause !== undefined ? error.cause : error;
  const stack = root instanceof Error ? framesOf(root) : '';
  span.addEvent('exception', {
    'exception.type': classOf(root),
    ...(error instanceof AppError ? { 'exception.message': error.message } : {}),
    ...(stack === '' ? {} : { 'exception.stacktrace': stack }),
  });
}

/** Returns the class of an error: its code, as drivers and Node set it, its reason or its name. */
export function classOf(error: unknown): string {
  if (error instanceof AppError) return error.reason;
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return String(code ?? name ?? 'unknown');
}

/** Returns the frames of a stack trace, without the message before them. */
function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}
