// Errors of chat-completions upstreams: {"error": {message, type, param, code}}, with variations. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { isObject, type JsonObject, parsedJson } from '../answers/stream-decoder.js';
import { isTooLongText, type Refusal, refusalError, retryAfter } from '../upstream-failure.js';

/** Returns the error for a response other than 2xx. `model` is the upstream's name of the model. */
export function responseError(
  status: number,
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  nowMs: number,
  model: string,
): AppError {
  const parsed = parsedJson(body);
  // Google's servers put the error into a list.
  const [payload] = Array.isArray(parsed) ? (parsed as unknown[]) : [parsed];
  return refusalError({ status, ...detailsOf(errorOf(payload)), retryAfterMs: retryAfter(headers, nowMs), model });
}

/** Returns the error for an `error` frame in the middle of a stream, or for an error that came with status 200. */
export function frameError(error: unknown, model: string): AppError {
  const found = detailsOf(error);
  return refusalError({ status: frameStatus(error, found), ...found, model });
}

/** Returns the error in a payload without an answer; undefined if there is none. */
export function errorOf(payload: unknown): unknown {
  if (!isObject(payload)) return undefined;
  const { error } = payload;
  // Like clients of this format, treats only a non-empty value as an error.
  if (error) {
    // Hugging Face's servers put the error type alongside the text.
    return typeof error === 'string' && typeof payload['error_type'] === 'string' ? { message: error, type: payload['error_type'] } : error;
  }
  const isBare =
    payload['object'] === 'error' ||
    payload['type'] === 'error' ||
    typeof payload['message'] === 'string' ||
    payload['detail'] !== undefined;
  return isBare && payload['choices'] === undefined ? payload : undefined;
}

function detailsOf(error: unknown): Pick<Refusal, 'labels' | 'text' | 'code' | 'param'> {
  if (!isObject(error)) return { labels: [], text: typeof error === 'string' ? error : '' };
  const inner = isObject(error['innererror']) ? error['innererror']['code'] : undefined;
  const labels = [error['type'], error['code'], inner].filter((label) => typeof label === 'string').map((label) => label.toLowerCase());
  return { labels, text: providerText(error) ?? textOf(error['message'] ?? error['detail']), code: error['code'], param: error['param'] };
}

/** Returns the provider's text. OpenRouter says "Provider returned error" and keeps the provider's original response in the metadata. */
function providerText({ metadata }: JsonObject): string | undefined {
  const raw = isObject(metadata) && typeof metadata['raw'] === 'string' ? parsedJson(metadata['raw']) : undefined;
  const error = errorOf(raw);
  const text = isObject(error) ? textOf(error['message']) : textOf(error);
  return text === '' ? undefined : text;
}

/** Returns the text of a message, or of FastAPI's list of field errors. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value))
    return value
      .map((entry) => (isObject(entry) ? faultOf(entry) : textOf(entry)))
      .filter((text) => text !== '')
      .join('; ');
  return isObject(value) ? textOf(value['message'] ?? value['detail']) : '';
}

function faultOf({ loc, msg }: JsonObject): string {
  const text = textOf(msg);
  return Array.isArray(loc) && text !== '' ? `${loc.slice(loc[0] === 'body' ? 1 : 0).join('.')}: ${text}` : text;
}

/** Returns the HTTP status that the vendor would have sent if the stream had not begun. */
function frameStatus(error: unknown, { labels, text }: Pick<Refusal, 'labels' | 'text'>): number {
  // OpenRouter and llama.cpp put the status into `code`.
  const codes = isObject(error) ? [error['code'], error['status'], error['status_code']].map(Number) : [];
  const code = codes.find((value) => value >= 400 && value <= 599);
  if (code !== undefined) return code;
  const statusByLabel: readonly [RegExp, number][] = [
    [/overloaded|unavailable|slow_down/, 503],
    [/rate_limit|quota|billing/, 429],
    [/auth|api_key|permission/, 401],
    [/invalid_|badrequest|bad_request|validation|context_length|policy|content_filter|image/, 400],
  ];
  const byLabel = statusByLabel.find(([pattern]) => labels.some((label) => pattern.test(label)))?.[1];
  return byLabel ?? (isTooLongText(text) ? 400 : 500);
}
