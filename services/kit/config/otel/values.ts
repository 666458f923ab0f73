// The kinds of OpenTelemetry's settings. Integers have at most 31 bits, and times are in milliseconds.
import { integer, type Setting } from '../settings.js';

const integerMax = 2 ** 31 - 1;

/** Returns a setting whose value is the result of `parse`, which throws an Error whose message completes "NAME …". */
export function parsed<T>(
  env: string,
  description: string,
  byDefault: T,
  parse: (text: string) => T,
  options: { secret?: boolean; show?: (value: T) => string } = {},
): Setting<T> {
  return { env, description, default: byDefault, parse, ...options };
}

/** Returns a setting for an integer of at least `min`. */
export function count(env: string, description: string, byDefault: number, min = 1): Setting<number> {
  return integer(env, description, { min, max: integerMax, default: byDefault });
}

/** Returns a setting for an integer of at least `min` that may be absent. */
export function optionalCount(env: string, description: string, min = 0): Setting<number | undefined> {
  return { ...integer(env, description, { min, max: integerMax }), default: undefined };
}

/** Returns a setting for a variable that is not supported; setting it is an error. */
export function refused(env: string, instead: string): Setting<undefined> {
  return parsed(env, `not supported: ${instead}`, undefined, () => {
    throw new Error(`is not supported: ${instead}`);
  });
}

/** Returns the text. Throws if it is not an http or https URL. */
export function addressOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw new Error('must be an address such as "http://localhost:4318"');
  return text;
}

/** Parses "key=value,key=value", where keys and values may be percent-encoded. Throws if the text has another form. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  const wrong = 'must be pairs such as "key=value,key=value", with "," and "=" percent-encoded in values';
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const parts = pair.split('=');
      const [key = '', value = ''] = parts.map((part) => part.trim());
      if (parts.length !== 2 || key === '' || !isDecodable(key + value)) throw new Error(wrong);
      return [decodeURIComponent(key), decodeURIComponent(value)];
    }),
  );
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}
