// What a vendor's refusal means for the caller, and what of it operators may read. Pure; shared by both wire formats.
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/reasons.js';

/** Longest vendor text that is passed on, in characters. */
const vendorTextCharsMax = 1000;

/** Longest wait that callers are asked for; some clients sleep as long as they are told. */
const retryAfterMsMax = 60_000;

/** A vendor's refusal in terms that both formats share. */
export interface Refusal {
  readonly status: number;
  /** The vendor's machine-readable words for it (type and code), in lower case. */
  readonly labels: readonly string[];
  /** The vendor's text; empty when there was none that is fit to be read. */
  readonly text: string;
  /** From the retry-after headers. */
  readonly retryAfterMs?: number;
  /** The vendor's name of the model, which callers do not know. */
  readonly model?: string;
  /** The vendor's own code and the field it blames; relayed with its text. */
  readonly code?: unknown;
  readonly param?: unknown;
}

/** The truth about a refusal, for operators: the `cause` of the AppError that callers see. */
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

// A vendor's own account trouble can come as a 400 or a 429, told only by its text or label.
const accountLabels = /quota|billing|spend_limit|credit|payment/;
const accountText = /credit balance|spend(ing)? limit|usage limits|current quota|billing hard limit/i;
// The same news in the words of OpenAI, vLLM, llama.cpp, OpenRouter, Anthropic, Google, xAI, Hugging Face and DashScope.
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
// A vendor's filter objects to what the caller wrote, whatever status it says that with.
const filterLabels = /^(content_filter|content_policy_violation|responsibleaipolicyviolation|data_inspection_failed)$/;
const filterText = /your input was flagged/i;

const neutral: Partial<Record<Reason, string>> = {
  upstream_unavailable: 'The upstream is not available at the moment.',
  upstream_rate_limited: 'The upstream limits the rate of calls; try again later.',
  upstream_overloaded: 'The upstream is overloaded; try again later.',
  upstream_failed: 'The upstream failed to answer.',
  upstream_timeout: 'The upstream did not answer in time.',
};

/** The error for a refusal. What concerns our own account is neutral to callers; what concerns the request is relayed. */
export function refusalError(refusal: Refusal): AppError {
  const cause = new VendorRefusal(refusal.status, refusal.labels, refusal.text);
  const reason = refusalReason(refusal);
  const relayed = reason === 'upstream_rejected' || reason === 'context_length_exceeded' || reason === 'body_too_large';
  const text = withoutModel(redact(refusal.text), refusal.model ?? '');
  const message = relayed ? text || `The upstream refused the request with status ${refusal.status}.` : neutral[reason]!;
  const retryAfterMs = reason === 'upstream_rate_limited' || reason === 'upstream_overloaded' ? refusal.retryAfterMs : undefined;
  return new AppError(reason, message, { cause, retryAfterMs, details: relayed ? wordsOf(refusal) : {} });
}

/** The vendor's code and param, where they are plain words. A filter that has no name of its own gets the usual one. */
function wordsOf(refusal: Refusal): Record<string, string> {
  const isNamed = typeof refusal.code === 'string' && (!isFiltered(refusal) || filterLabels.test(refusal.code.toLowerCase()));
  const { param } = refusal;
  const code = isFiltered(refusal) && !isNamed ? 'content_filter' : refusal.code;
  const isPlain = (value: unknown): value is string => typeof value === 'string' && /^[\w.[\]-]{1,100}$/.test(value);
  return { ...(isPlain(code) ? { code } : {}), ...(isPlain(param) ? { param } : {}) };
}

/** The text with the vendor's name of the model replaced, since callers know the model by another. */
function withoutModel(text: string, model: string): string {
  // A name that is a word of the language would be found in any text; such a one only counts in quotes.
  const name = model.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
  const isWord = /^[A-Za-z]*$/.test(model);
  if (model === '') return text;
  const named = `["'\`]${name}["'\`]${isWord ? '' : `|(?<![\\w./-])${name}(?![\\w/-])`}`;
  return text.replace(new RegExp(`(\\b(the )?model )?(${named})`, 'gi'), 'the model');
}

/** Whether a vendor's text says that the prompt is too long. */
export function isTooLongText(text: string): boolean {
  return contextText.test(text);
}

/** Whether a vendor's filter objects to what the caller wrote. */
function isFiltered({ status, labels, text }: Refusal): boolean {
  return labels.some((label) => filterLabels.test(label)) || (status === 403 && filterText.test(text));
}

function refusalReason(refusal: Refusal): Reason {
  const { status, labels, text } = refusal;
  if (isFiltered(refusal)) return 'upstream_rejected';
  if (status === 401 || status === 402 || status === 403 || status === 404) return 'upstream_unavailable';
  const isTooLong = labels.some((label) => contextLabels.test(label)) || (status !== 429 && isTooLongText(text));
  // Some servers say it with a status of 500.
  if (isTooLong) return 'context_length_exceeded';
  if (status === 413) return 'body_too_large';
  if (status === 400 || status === 422) return accountText.test(text) ? 'upstream_unavailable' : 'upstream_rejected';
  if (status === 429) {
    const isAccount = labels.some((label) => accountLabels.test(label)) || accountText.test(text);
    return isAccount ? 'upstream_unavailable' : 'upstream_rate_limited';
  }
  if (status === 503 || status === 529) return 'upstream_overloaded';
  return status === 408 || status === 504 ? 'upstream_timeout' : 'upstream_failed';
}

/** The vendor's text without anything that looks like a credential, on one line, and bounded. */
export function redact(text: string): string {
  return text
    .slice(0, 2 * vendorTextCharsMax)
    .replace(/\b(bearer\s+|sk-|key-|pk-|sess-|org-|proj_)[\w*.~+/-]{3,}/gi, '[redacted]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, vendorTextCharsMax);
}

/** The wait that the headers ask for, bounded; undefined when they ask for none that can be read. */
export function retryAfter(headers: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
  const exact = Number(headers['retry-after-ms'] || Number.NaN);
  const plain = headers['retry-after'] ?? '';
  const waitMs = Number.isFinite(exact) ? exact : /^\s*\d+(\.\d+)?\s*$/.test(plain) ? Number(plain) * 1000 : Date.parse(plain) - nowMs;
  return Number.isFinite(waitMs) && waitMs >= 0 ? Math.min(Math.ceil(waitMs), retryAfterMsMax) : undefined;
}

/** The JSON of an error body; undefined for anything else, HTML pages of proxies above all. */
export function parseErrorBody(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
