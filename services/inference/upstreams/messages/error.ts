// Errors of messages upstreams: {"type": "error", "error": {type, message, details?}}. Pure.
import type { AppError } from '#kit/errors/app-error.js';
import { isObject } from '../stream-decoder.js';
import { parseErrorBody, refusalError, retryAfter } from '../upstream-failure.js';

/** The error for a response other than 2xx. */
export function responseError(status: number, headers: Readonly<Record<string, string | undefined>>, body: string, nowMs: number): AppError {
  const parsed = parseErrorBody(body);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  return refusalError({ status, labels: labelsOf(error), text: textOf(error), retryAfterMs: retryAfter(headers, nowMs) });
}

const statusByType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The error for an `error` event in the middle of a stream. */
export function eventError(error: unknown): AppError {
  const type = isObject(error) && typeof error['type'] === 'string' ? error['type'] : '';
  return refusalError({ status: statusByType[type] ?? 500, labels: labelsOf(error), text: textOf(error) });
}

function labelsOf(error: unknown): string[] {
  if (!isObject(error)) return [];
  const details = isObject(error['details']) ? error['details'] : {};
  return [error['type'], details['error_code']].filter((label) => typeof label === 'string').map((label) => label.toLowerCase());
}

function textOf(error: unknown): string {
  return isObject(error) && typeof error['message'] === 'string' ? error['message'] : '';
}
