// Calls the console's API. Every error becomes an ApiError, which the pages show with its field and request id.
import type { ConsoleError } from '../../../gateway/console/schemas/error.js';
import { gatewayUrl } from '../base.js';
import { fetchErrors } from '../i18n/error-text.js';

/** An error of the API, or no answer at all. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 when there was no answer. */
    readonly status: number,
    /** What to branch on, for example `session_unknown`; without an answer `unreachable` for a read, and `unanswered` for what may have had an effect. */
    readonly code: string,
    message: string,
    /** The field of the request that is at fault. */
    readonly field: string | null = null,
    readonly requestId: string | null = null,
    /** Seconds after which to try again. */
    readonly retryAfter: number | null = null,
    /** The exact cause, if one code has several. */
    readonly rule: string | null = null,
    /** The parameters of the error's text. */
    readonly params: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Whether an error may be transient: there was no answer, or a service is unavailable. */
export function mayPass(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 502);
}

/** Whether the server did not answer, or a proxy answered for it. The frame shows this once for the whole page. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || (error.status >= 502 && error.code === 'unexpected_answer'));
}

/** Whether an error is about a field, or about a part of it (`models.3`). */
export function isAbout(error: unknown, field: string): error is ApiError {
  return error instanceof ApiError && (error.field === field || error.field?.startsWith(`${field}.`) === true);
}

/** A page of a list; `next` is the cursor of the page after it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next: string | null;
}

/** Query parameters; those without a value are omitted. */
export type Query = Readonly<Record<string, string | number | undefined | null>>;

/** Returns an address of the console's API. */
export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(`console/api${path}`, gatewayUrl);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, String(value));
  return url.href;
}

interface Options {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Makes a retry of the request have no further effect. */
  readonly idempotencyKey?: string;
}

/** How long a read waits for its response: otherwise it would wait forever on a connection that has gone silent. */
const readMsMax = 30_000;

async function ask<T>(method: string, path: string, { query, body, signal, idempotencyKey }: Options = {}): Promise<T> {
  let response: Response;
  let text: string;
  const ended = new AbortController();
  const end = (): void => ended.abort();
  signal?.addEventListener('abort', end);
  const patience = method === 'GET' ? setTimeout(end, readMsMax) : undefined;
  try {
    response = await fetch(apiUrl(path, query), {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        // No other site can send this header.
        ...(method === 'GET' ? {} : { 'x-tollgate-console': '1' }),
        // Mails that the request sends are in the language of the console.
        'accept-language': document.documentElement.lang,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: ended.signal,
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, method === 'GET' ? 'unreachable' : 'unanswered', 'Tollgate cannot be reached.');
  } finally {
    clearTimeout(patience);
    signal?.removeEventListener('abort', end);
  }
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
  const error = errorOf(response, text);
  // The error that no user is signed in is not shown anywhere.
  if (error.code !== 'session_unknown') await fetchErrors();
  throw error;
}

/** Returns the error of an unsuccessful response. */
export function errorOf(response: Response, text: string): ApiError {
  const retryAfter = response.headers.get('retry-after');
  const wait = retryAfter === null ? null : Number(retryAfter);
  const requestId = response.headers.get('x-request-id');
  try {
    const { code, message, field, request_id, rule, params } = (JSON.parse(text) as { error: ConsoleError }).error;
    return new ApiError(response.status, code, message, field, request_id, wait, rule, params);
  } catch {
    // From a proxy in between.
    return new ApiError(response.status, 'unexpected_answer', `The answer had status ${response.status}.`, null, requestId, wait);
  }
}

/** The console's API. */
export const api = {
  get: <T>(path: string, options?: Options) => ask<T>('GET', path, options),
  post: <T>(path: string, options?: Options) => ask<T>('POST', path, options),
  put: <T>(path: string, options?: Options) => ask<T>('PUT', path, options),
  patch: <T>(path: string, options?: Options) => ask<T>('PATCH', path, options),
  delete: <T>(path: string, options?: Options) => ask<T>('DELETE', path, options),
};

/** A key for Idempotency-Key; `crypto.randomUUID` is missing on plain http. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
