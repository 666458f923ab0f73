// Makes what others say fit to be read by operators: on one line, short, without credentials and control characters. Pure.
import { redact, VendorRefusal } from '../upstream-failure.js';

/** Longest text of a step, in characters. */
const stepTextCharsMax = 400;

// As many characters at the beginning of a secret are enough to find a piece of it that an upstream quotes.
const quotedCharsMin = 6;

/** The text as it may be shown. `secret` is blanked wherever it stands, and so is every word that begins as it does. */
export function operatorText(text: string, secret: string | undefined): string {
  const blanked = secret === undefined ? text : withoutSecret(text, secret);
  const plain = redact(blanked.replace(/\p{C}+/gu, ' '));
  return plain.length <= stepTextCharsMax ? plain : `${plain.slice(0, stepTextCharsMax - 1)}…`;
}

function withoutSecret(text: string, secret: string): string {
  const escaped = (part: string): string => part.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
  // Codes of errors are read in lower case.
  const whole = text.replace(new RegExp(escaped(secret), 'gi'), '[redacted]');
  if (secret.length < 2 * quotedCharsMin) return whole;
  return whole.replace(new RegExp(`${escaped(secret.slice(0, quotedCharsMin))}[^\\s"'<>]*`, 'gi'), '[redacted]');
}

/** What is known of a failure, in words: the upstream's own where there are some. */
export function faultWords(error: unknown): string {
  const { message, code, cause, errors } = partsOf(error);
  // When several addresses of a name were tried, the first failure speaks for all.
  if (errors.length > 0) return faultWords(errors[0]);
  if (cause instanceof VendorRefusal) return cause.message;
  const told = code === '' || message.includes(code) ? message : `${message} (${code})`;
  return cause === undefined ? told : `${told}: ${faultWords(cause)}`;
}

/** What an error says by itself, whatever made it; empty where it has none of it. */
export function partsOf(error: unknown): { message: string; code: string; cause: unknown; errors: readonly unknown[] } {
  if (typeof error !== 'object' || error === null) return { message: String(error), code: '', cause: undefined, errors: [] };
  const text = (name: string): string => (name in error ? String((error as Record<string, unknown>)[name] ?? '') : '');
  return {
    message: text('message'),
    code: text('code'),
    cause: 'cause' in error ? error.cause : undefined,
    errors: 'errors' in error && Array.isArray(error.errors) ? error.errors : [],
  };
}
