// Maps a vendor's refusal to the error for the caller, and to the details for operators. Pure; shared by all wire formats.
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';

/** Maximum vendor text that is passed on, in characters. */
const vendorTextCharsMax = 1000;

/** Longest wait that is passed on to callers; some clients sleep for as long as the header says. */
const retryAfterMsMax = 60_000;

/** Describes a vendor's refusal in terms that all formats share. */
export interface Refusal {
  readonly status: number;
  /** The vendor's machine-readable type and code, in lower case. */
  readonly labels: readonly string[];
  /** The vendor's text; empty if there was none that can be shown. */
  readonly text: string;
  /** From the retry-after headers. */
  readonly retryAfterMs?: number;
  /** The vendor's name for the model, which callers do not know. */
  readonly model?: string;
  /** The vendor's own code and the field it blames; relayed with its text. */
  readonly code?: unknown;
  readonly param?: unknown;
  /** What the vendor says about its code, in a form for programs. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Holds the full details of a refusal, for operators: the `cause` of the AppError that callers see. */
export class VendorRefusal extends Error {
  override readonly name = 'VendorRefusal';

  constructor(
    readonly status: number,
    readonly labels: readonly string[],
    text: string,
  ) {
    super(`status ${status} ${labels.join(' ')}: ${text === '' ? '(no text)' : redact(text)}`);
  }
}

/** Marks the error of a call that was not sent because its upstream has reached its maximum number of calls in flight: its `cause`. */
class CallsMaxReached extends Error {
  override readonly name = 'CallsMaxReached';
}

/** Returns the error of such a call. */
export function callsMaxReached(): AppError {
  const message = 'The upstream has reached its maximum number of calls in flight. Try again shortly.';
  return new AppError('upstream_overloaded', message, { cause: new CallsMaxReached('the call was not sent'), retryAfterMs: 1000 });
}

/** Reports whether the error is that of a call that was not sent because its upstream has reached its maximum number of calls in flight. */
export function isCallsMaxReached(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof CallsMaxReached;
}

// Problems with our account at the vendor can arrive as a 400 or a 429, recognisable only by text or label ("Arrearage" at Alibaba).
const accountLabels = /quota|billing|spend_limit|credit|payment|^arrearage$/;
const accountText = /credit balance|spend(ing)? limit|usage limits|current quota|billing hard limit|api key (not valid|expired)/i;
// Google calls the limit of a minute a quota too, and then says when it ends.
const shortWaitText = /retry in \d/i;
// A prompt that is too long, in the words of OpenAI, vLLM, llama.cpp, OpenRouter, Anthropic, Google, xAI, Hugging Face and DashScope.
const contextLabels = /^(context_length_exceeded|context_window_exceeded|exceed_context_size_error|model_context_window_exceeded)$/;
const contextText = new RegExp(
  [
    'context[ _](length|window|size|limit)',
    'maximum context',
    'too many (input )?tokens',
    '(prompt|input)( \\([^)]*\\))? is too long',
    '(exceeds?|longer than) the (model.s )?(maximum |available )?(context|model length)',
    'maximum (prompt|input|sequence) length',
    'input token count .{0,40}exceeds',
    'inputs?`? (tokens \\+|must have less than)',
    'range of input length',
  ].join('|'),
  'i',
);
// A vendor's filter rejected what the caller wrote, whatever the status.
const filterLabels = /^(content_filter|content_policy_violation|responsibleaipolicyviolation|data_inspection_failed)$/;
const filterText = /your input was flagged/i;

const neutral: Partial<Record<Reason, string>> = {
  upstream_unavailable: 'The upstream is not available at the moment.',
  upstream_rate_limited: 'The upstream is rate-limiting calls; try again later.',
  upstream_overloaded: 'The upstream is overloaded; try again later.',
  upstream_failed: 'The upstream failed to answer.',
  upstream_timeout: 'The upstream did not answer in time.',
};

/** Returns the error for a refusal. Problems with our own account get a neutral text for callers; problems with the request are relayed. */
export function refusalError(refusal: Refusal): AppError {
  const cause = new VendorRefusal(refusal.status, refusal.labels, refusal.text);
  const reason = refusalReason(refusal);
  const relayed = reason === 'upstream_rejected' || reason === 'context_length_exceeded' || reason === 'body_too_large';
  const text = withoutModel(redact(refusal.text), refusal.model ?? '');
  const message = relayed ? text || `The upstream refused the request with status ${refusal.status}.` : neutral[reason]!;
  const retryAfterMs = reason === 'upstream_rate_limited' || reason === 'upstream_overloaded' ? refusal.retryAfterMs : undefined;
  return new AppError(reason, message, { cause, retryAfterMs, details: relayed ? wordsOf(refusal) : {} });
}

/** Returns the vendor's code and param if they are plain words, and its details as JSON. A filter without its own code gets the usual one. */
function wordsOf(refusal: Refusal): Record<string, string> {
  const isNamed = typeof refusal.code === 'string' && (!isFiltered(refusal) || filterLabels.test(refusal.code.toLowerCase()));
  const { param } = refusal;
  const code = isFiltered(refusal) && !isNamed ? 'content_filter' : refusal.code;
  const details = JSON.stringify(plainDetails(refusal));
  return {
    ...(isPlain(code) ? { code } : {}),
    ...(isPlain(param) ? { param } : {}),
    ...(details === '{}' || details.length > vendorTextCharsMax ? {} : { details }),
  };
}

function isPlain(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.[\]-]{1,100}$/.test(value);
}

/** The fields of a vendor's details that its clients read (@anthropic-ai/sdk 1.14, `ImageDimensionsTooLargeError`). Others could name the operator's account. */
const relayedDetails: Readonly<Record<string, (value: unknown) => boolean>> = {
  max_side_length_pixels: Number.isSafeInteger,
  paths: (value) => Array.isArray(value) && value.every(isPlain),
};

/** Returns the details that may be relayed. */
function plainDetails({ details = {} }: Refusal): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).filter(([name, value]) => Object.hasOwn(relayedDetails, name) && relayedDetails[name]!(value)),
  );
}

/** Returns the text with the vendor's name for the model replaced, since callers know the model by another name. */
function withoutModel(text: string, model: string): string {
  // A name that is an ordinary word would match in any text; such a name is replaced only in quotes.
  const name = RegExp.escape(model);
  const isWord = /^[A-Za-z]*$/.test(model);
  if (model === '') return text;
  const named = `["'\`]${name}["'\`]${isWord ? '' : `|(?<![\\w./-])${name}(?![\\w/-])`}`;
  return text.replace(new RegExp(`(\\b(the )?model )?(${named})`, 'gi'), 'the model');
}

/** Reports whether a vendor's text says that the prompt is too long. */
export function isTooLongText(text: string): boolean {
  return contextText.test(text);
}

/** Reports whether a vendor's filter rejected what the caller wrote. */
function isFiltered({ status, labels, text }: Refusal): boolean {
  return labels.some((label) => filterLabels.test(label)) || (status === 403 && filterText.test(text));
}

function refusalReason(refusal: Refusal): Reason {
  const { status, labels, text } = refusal;
  if (isFiltered(refusal)) return 'upstream_rejected';
  if (status === 401 || status === 402 || status === 403 || status === 404) return 'upstream_unavailable';
  const isTooLong = labels.some((label) => contextLabels.test(label)) || (status !== 429 && isTooLongText(text));
  // Some servers report this with status 500.
  if (isTooLong) return 'context_length_exceeded';
  // Groq responds like this if a single request has more tokens than our account may send in a minute.
  if (status === 413) return labels.includes('rate_limit_exceeded') ? 'upstream_rate_limited' : 'body_too_large';
  if (status === 400 || status === 422 || status === 429) {
    const isAccount = labels.some((label) => accountLabels.test(label)) || (accountText.test(text) && !shortWaitText.test(text));
    if (isAccount) return 'upstream_unavailable';
    return status === 429 ? 'upstream_rate_limited' : 'upstream_rejected';
  }
  if (status === 503 || status === 529) return 'upstream_overloaded';
  return status === 408 || status === 504 ? 'upstream_timeout' : 'upstream_failed';
}

/** Returns the vendor's text on one line, bounded, and without anything that looks like a credential. */
export function redact(text: string): string {
  return text
    .slice(0, 2 * vendorTextCharsMax)
    .replace(/\b(bearer\s+|sk-|key-|pk-|sess-|org-|proj_)[\w*.~+/-]{3,}/gi, '[redacted]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, vendorTextCharsMax);
}

/** A shorter secret, such as "ollama", may be an ordinary word. */
const unmistakableCharsMin = 12;

/** Returns the body of an error without the secret of its request, which some servers quote when they refuse it. */
export function withoutSecret(body: string, secret: string | undefined): string {
  return secret === undefined || secret.length < unmistakableCharsMin ? body : body.replaceAll(secret, '[redacted]');
}

/** Returns the wait that the headers request, bounded; undefined if they request none or it is unreadable. */
export function retryAfter(headers: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
  const exact = Number(headers['retry-after-ms'] || Number.NaN);
  const plain = headers['retry-after'] ?? '';
  const waitMs = Number.isFinite(exact) ? exact : /^\s*\d+(\.\d+)?\s*$/.test(plain) ? Number(plain) * 1000 : Date.parse(plain) - nowMs;
  return Number.isFinite(waitMs) && waitMs >= 0 ? Math.min(Math.ceil(waitMs), retryAfterMsMax) : undefined;
}
