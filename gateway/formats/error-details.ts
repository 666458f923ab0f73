// The part of a refusal's body that both dialects share: what a program can read.
import { type AppError, internalMessage } from '#client/errors/app-error.js';
import type { Reason } from '#rules/reasons.js';
import { formatUsd } from '#rules/money.js';

/** How one dialect tells a reason. */
export interface Rendering {
  status: number;
  /** The vendor's word in error.type. */
  type: string;
  /** error.code: the vendor's word where there is one, else ours. */
  code: string | null;
  /**
   * Whether a repeat of the same request can help. "later": in a second, or when the error says. "when-told": only where the error says when.
   * "unsaid": libraries know by the status, and how long to wait they only hear where somebody knows.
   */
  retry: 'never' | 'later' | 'when-told' | 'unsaid';
}

/** How a dialect tells every reason. */
export type Renderings = Readonly<Record<Reason, Rendering>>;

/** The error object of both dialects. */
export interface ErrorObject {
  type: string;
  message: string;
  code: string | null;
  /** The field at fault. */
  param: string | null;
  /** Our own reason, finer than the vendor's words. */
  reason: Reason;
  /** Particulars such as needed and available, which are decimal USD. */
  [detail: string]: string | null;
}

// These say what happened inside; to a caller they are all the same fault of ours.
const hiddenReasons: ReadonlySet<Reason> = new Set([
  'internal',
  'peer_not_permitted',
  'actor_refused',
  'hold_closed',
  'call_closed',
  // Of the console, which tells them in its own form.
  'sign_in_refused',
  'sign_in_throttled',
  'session_unknown',
  'role_not_permitted',
  'code_refused',
  'code_throttled',
]);

const ownKeys: ReadonlySet<string> = new Set(['type', 'message', 'code', 'param', 'reason', 'details', 'field', 'rule']);
const amountSuffix = '_nano_usd';

/** A finer code, where there is one: the vendor's own of a request that it refused, which callers' programs know ("content_filter" above all), or that of a field that is not there. */
function codeOf({ reason, details }: AppError, code: string | null): string | null {
  return reason === 'upstream_rejected' || reason === 'invalid_request' ? (details['code'] ?? code) : code;
}

/** Builds the error object. Amounts become decimal USD: needed_nano_usd "1500000000" is told as needed "1.5". */
export function errorObject(error: AppError, { type, code }: Rendering): ErrorObject {
  if (hiddenReasons.has(error.reason)) return { type, message: internalMessage, code, param: null, reason: 'internal' };
  const object: ErrorObject = {
    type,
    message: error.message,
    code: codeOf(error, code),
    param: error.details['field'] ?? error.details['param'] ?? null,
    reason: error.reason,
  };
  for (const [name, value] of Object.entries(error.details)) {
    if (ownKeys.has(name)) continue;
    if (name.endsWith(amountSuffix) && /^-?\d{1,19}$/.test(value)) object[name.slice(0, -amountSuffix.length)] = formatUsd(BigInt(value));
    else object[name] = value;
  }
  return object;
}

// Some client libraries sleep for as long as they are told, and others stop retrying beyond a minute.
const retryAfterSecondsMax = 60;

/** The headers that tell client libraries whether and when to repeat. */
export function retryHeaders(error: AppError, { retry, status }: Rendering): Record<string, string> {
  const { retryAfterMs = retry === 'later' ? 1000 : undefined } = error;
  if (retry === 'never' || (retry === 'when-told' && retryAfterMs === undefined)) return { 'x-should-retry': 'false' };
  if (retryAfterMs === undefined) return {};
  const seconds = Math.ceil(retryAfterMs / 1000);
  const wait = { 'retry-after': String(Math.min(Math.max(seconds, 1), retryAfterSecondsMax)) };
  // No library repeats a 402 of its own accord; that one can be worth it (calls in flight hold what is missing) has to be said.
  return status === 402 ? { ...wait, 'x-should-retry': 'true' } : wait;
}
