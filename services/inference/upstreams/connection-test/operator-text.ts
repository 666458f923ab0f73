// Prepares texts from outside for operators: one line, short, without credentials or control characters. Pure.
import { AppError } from '#client/errors/app-error.js';
import { redact, VendorRefusal } from '../upstream-failure.js';

/** Maximum length of a step's text, in characters. */
const stepTextCharsMax = 400;

// This many characters at the start of a secret are enough to recognise a piece of it that an upstream quotes.
const quotedCharsMin = 6;
/** Shorter secrets, such as "x", are not redacted: users of local servers enter them only because their client requires a key. */
const secretCharsMin = 4;
/** Shorter secrets, such as "ollama", may be part of another word, a path or a host name, and are redacted only where they are a word. */
const unmistakableCharsMin = 8;

/**
 * Returns the text in a form that may be shown. The secrets are redacted wherever they occur, short ones where they are a word, and so is every
 * word that begins like a long one.
 */
export function operatorText(text: string, secrets: readonly string[]): string {
  const blanked = secrets.reduce(withoutSecret, text);
  const plain = redact(blanked.replace(/\p{C}+/gu, ' '));
  return plain.length <= stepTextCharsMax ? plain : `${plain.slice(0, stepTextCharsMax - 1)}…`;
}

function withoutSecret(text: string, secret: string): string {
  if (secret.length < secretCharsMin) return text;
  const [before, after] =
    secret.length < unmistakableCharsMin ? [String.raw`(?<![\p{L}\p{N}_/.’'-])`, String.raw`(?![\p{L}\p{N}_/-])`] : ['', ''];
  // The case is ignored, because error codes are read in lower case.
  const whole = text.replace(new RegExp(`${before}${RegExp.escape(secret)}${after}`, 'giu'), '[redacted]');
  if (secret.length < 2 * quotedCharsMin) return whole;
  return whole.replace(new RegExp(`${RegExp.escape(secret.slice(0, quotedCharsMin))}[^\\s"'<>]*`, 'gi'), '[redacted]');
}

/** Describes a failure in words: those of the upstream if it sent any. */
export function faultWords(error: unknown): string {
  const { message, code, cause, errors } = partsOf(error);
  // When several addresses of a name were tried, the first failure is reported for all of them.
  if (errors.length > 0) return faultWords(errors[0]);
  if (cause instanceof VendorRefusal) return cause.message;
  const text = code === '' || message.includes(code) ? message : `${message} (${code})`;
  return cause === undefined ? text : `${text}: ${faultWords(cause)}`;
}

/** Returns the parts of an error of any origin; empty where it has none. */
export function partsOf(error: unknown): { message: string; code: string; cause: unknown; errors: readonly unknown[] } {
  if (typeof error !== 'object' || error === null) return { message: String(error), code: '', cause: undefined, errors: [] };
  const text = (name: string): string => (name in error ? String((error as Record<string, unknown>)[name] ?? '') : '');
  return {
    message: text('message'),
    // The number of a gRPC status means nothing to an operator.
    code: error instanceof AppError ? '' : text('code'),
    cause: 'cause' in error ? error.cause : undefined,
    errors: 'errors' in error && Array.isArray(error.errors) ? error.errors : [],
  };
}
