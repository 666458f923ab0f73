// Errors of messages upstreams: {"type": "error", "error": {type, message, details?}}. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { isObject, parsedJson } from '../answers/stream-decoder.js';
import { type Refusal, refusalError, retryAfter } from '../upstream-failure.js';

/** Returns the error for a response other than 2xx. `model` is the upstream's name for the model. */
export function responseError(
  status: number,
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  nowMs: number,
  model: string,
): AppError {
  const parsed = parsedJson(body);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  return refusalError({ status, ...detailsOf(error), retryAfterMs: retryAfter(headers, nowMs), model });
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

/** Returns the error for an `error` event in the middle of a stream, or for one that came with status 200. */
export function eventError(error: unknown, model: string): AppError {
  const type = isObject(error) && typeof error['type'] === 'string' ? error['type'] : '';
  const status = Object.hasOwn(statusByType, type) ? statusByType[type]! : 500;
  return refusalError({ status, ...detailsOf(error), model });
}

// The format has no code for content that a filter withheld; callers of OpenAI's formats know this one.
const filterText = /blocked by content filter/i;

function detailsOf(error: unknown): Pick<Refusal, 'labels' | 'text' | 'code' | 'details'> {
  if (!isObject(error)) return { labels: [], text: typeof error === 'string' ? error : '' };
  const { error_code: code, ...details } = isObject(error['details']) ? error['details'] : {};
  const labels = [error['type'], code].filter((label) => typeof label === 'string').map((label) => label.toLowerCase());
  const text = typeof error['message'] === 'string' ? error['message'] : '';
  return { labels, text, code: filterText.test(text) ? 'content_filter' : code, details };
}
