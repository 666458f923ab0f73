// Errors of chat-completions upstreams: {"error": {message, type, param, code}}, with variations. Pure.
import type { AppError } from '#kit/errors/app-error.js';
import { isObject } from '../stream-decoder.js';
import { parseErrorBody, refusalError, retryAfter } from '../upstream-failure.js';

/** The error for a response other than 2xx. */
export function responseError(status: number, headers: Readonly<Record<string, string | undefined>>, body: string, nowMs: number): AppError {
  const parsed = parseErrorBody(body);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  return refusalError({ status, labels: labelsOf(error), text: textOf(error), retryAfterMs: retryAfter(headers, nowMs) });
}

/** The error for an `error` frame in the middle of a stream. */
export function frameError(error: unknown): AppError {
  const labels = labelsOf(error);
  return refusalError({ status: frameStatus(error, labels), labels, text: textOf(error) });
}

/** The HTTP status that the vendor would have sent, had the stream not begun. */
function frameStatus(error: unknown, labels: readonly string[]): number {
  // OpenRouter puts the status into `code`.
  const code = isObject(error) ? error['code'] : undefined;
  if (typeof code === 'number' && code >= 400 && code <= 599) return code;
  const statusByLabel: readonly [RegExp, number][] = [
    [/overloaded|unavailable|slow_down/, 503],
    [/rate_limit|quota|billing/, 429],
    [/auth|api_key|permission/, 401],
    [/invalid_request|context_length|content_policy/, 400],
  ];
  return statusByLabel.find(([pattern]) => labels.some((label) => pattern.test(label)))?.[1] ?? 500;
}

function labelsOf(error: unknown): string[] {
  if (!isObject(error)) return [];
  return [error['type'], error['code']].filter((label) => typeof label === 'string').map((label) => label.toLowerCase());
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error;
  return isObject(error) && typeof error['message'] === 'string' ? error['message'] : '';
}
