// The machine-readable part of an error body that all formats share.
import { type AppError, internalMessage } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';
import { formatUsd } from '#rules/money/money.js';

/** Describes how one format reports a reason. */
export interface Rendering {
  status: number;
  /** The vendor's value of error.type. */
  type: string;
  /** error.code: the vendor's value if there is one, otherwise ours. */
  code: string | null;
  /**
   * Whether a retry of the same request can help. "later": in a second, or when the error says. "conditional": only if the error says when.
   * "by-status": libraries decide by the status, and the wait is sent only if it is known.
   */
  retry: 'never' | 'later' | 'conditional' | 'by-status';
}

/** Maps every reason to how a format reports it. */
export type Renderings = Readonly<Record<Reason, Rendering>>;

/** The error object of all formats. */
export interface ErrorObject {
  type: string;
  message: string;
  code: string | null;
  /** The field at fault. */
  param: string | null;
  /** Our own reason, more specific than the vendor's values. */
  reason: Reason;
  /** Details such as needed and available, which are decimal USD. */
  [detail: string]: string | null;
}

// These describe internal failures; to a caller they are all the same internal error.
const hiddenReasons: ReadonlySet<Reason> = new Set([
  'internal',
  'peer_not_permitted',
  'actor_refused',
  'hold_closed',
  'call_closed',
  // Reasons of the console, which returns them in its own form.
  'sign_in_refused',
  'sign_in_throttled',
  'session_unknown',
  'role_not_permitted',
  'code_refused',
  'code_throttled',
]);

/** Returns the reason as callers see it: failures of ours are all the same to them. */
export function shownReason({ reason }: AppError): Reason {
  return hiddenReasons.has(reason) ? 'internal' : reason;
}

/** What customers read when a part of the installation fails: which part it was is of no use to them, and is in the logs. */
const outageMessages: Partial<Record<Reason, string>> = {
  service_unavailable: 'The service is temporarily unavailable. Try again.',
  overloaded: 'The service is busy. Try again shortly.',
  deadline_exceeded: 'The service did not respond in time. Try again.',
  unimplemented: 'The service cannot do this at the moment. Try again later.',
};
const rpcPath = /\btollgate\.[a-z]+\.v\d/;

/** Returns the message as customers see it. Errors of other services and of connections to them are worded for operators, unless they have a rule. */
export function shownMessage(error: AppError): string {
  if (rpcPath.test(error.message)) return outageMessages[error.reason] ?? internalMessage;
  const isForOperators = error.remote && error.details['rule'] === undefined;
  return (isForOperators ? outageMessages[error.reason] : undefined) ?? error.message;
}

const ownKeys: ReadonlySet<string> = new Set(['type', 'message', 'code', 'param', 'reason', 'details', 'field', 'rule']);
const amountSuffix = '_nano_usd';

/** Returns a more specific code if there is one: the vendor's own for a request that it refused, which clients know (above all "content_filter"), or that of a missing field. */
function codeOf({ reason, details }: AppError, code: string | null): string | null {
  return reason === 'upstream_rejected' || reason === 'invalid_request' ? (details['code'] ?? code) : code;
}

/** Builds the error object. Amounts become decimal USD: needed_nano_usd "1500000000" is returned as needed "1.5". */
export function errorObject(error: AppError, { type, code }: Rendering): ErrorObject {
  if (shownReason(error) === 'internal') return { type, message: internalMessage, code, param: null, reason: 'internal' };
  const object: ErrorObject = {
    type,
    message: shownMessage(error),
    code: codeOf(error, code),
    param: error.details['field'] ?? error.details['param'] ?? null,
    reason: error.reason,
  };
  return Object.assign(object, figuresOf(error.details));
}

/** Returns the details that are not fields of the error object itself. Amounts become decimal USD, as in `errorObject`. */
export function figuresOf(details: Readonly<Record<string, string>>): Record<string, string> {
  const figures: Record<string, string> = {};
  for (const [name, value] of Object.entries(details)) {
    if (ownKeys.has(name)) continue;
    if (name.endsWith(amountSuffix) && /^-?\d{1,19}$/.test(value)) figures[name.slice(0, -amountSuffix.length)] = formatUsd(BigInt(value));
    else figures[name] = value;
  }
  return figures;
}

// Some client libraries sleep for as long as the header says, and others stop retrying beyond a minute.
const retryAfterSecondsMax = 60;

/** Returns the whole seconds of a wait, as the header `retry-after` has them. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.min(Math.max(Math.ceil(retryAfterMs / 1000), 1), retryAfterSecondsMax);
}

/** Returns the headers that tell client libraries whether and when to retry. */
export function retryHeaders(error: AppError, { retry, status }: Rendering): Record<string, string> {
  const { retryAfterMs = retry === 'later' ? 1000 : undefined } = error;
  if (retry === 'never' || (retry === 'conditional' && retryAfterMs === undefined)) return { 'x-should-retry': 'false' };
  if (retryAfterMs === undefined) return {};
  const wait = { 'retry-after': String(retryAfterSeconds(retryAfterMs)) };
  // No library retries a 402 by itself, so the response must say if a retry can help (calls in flight hold the missing amount).
  return status === 402 ? { ...wait, 'x-should-retry': 'true' } : wait;
}
