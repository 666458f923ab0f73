// Helpers with which the stub checks requests as strictly as the vendors do.

/** Raised for a request that the vendor would reject. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly param: string | null = null,
    readonly status = 400,
  ) {
    super(message);
  }
}

/** Any JSON object. */
export type Json = Record<string, unknown>;

/** Reports whether the value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value as an object that has all required keys and no others than these. */
export function objectOf(value: unknown, path: string, required: readonly string[], optional: readonly string[] = []): Json {
  const object = anyObject(value, path);
  for (const key of required) {
    if (object[key] === undefined) throw new Refused(`${path === '' ? '' : `${path}.`}${key}: Field required`, key);
  }
  for (const key of Object.keys(object)) {
    if (!required.includes(key) && !optional.includes(key))
      throw new Refused(`${path === '' ? '' : `${path}.`}${key}: Extra inputs are not permitted`, key);
  }
  return object;
}

/** Returns the value as an object with any keys. */
export function anyObject(value: unknown, path: string): Json {
  if (!isJson(value)) throw new Refused(`${path}: Input should be an object`, path);
  return value;
}

/** Returns the value as a non-empty list. */
export function listOf(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new Refused(`${path}: Input should be a list with at least one item`, path);
  return value;
}

/** Returns the value as text. */
export function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Refused(`${path}: Input should be a valid string`, path);
  return value;
}

/** Returns the value as one of these words. */
export function wordOf(value: unknown, path: string, words: readonly string[]): string {
  const word = textOf(value, path);
  if (!words.includes(word)) throw new Refused(`${path}: Input should be ${words.map((allowed) => `'${allowed}'`).join(' or ')}`, path);
  return word;
}

/** Refuses a value that is present but not a boolean. */
export function optionalFlag(value: unknown, path: string): void {
  insist(value === undefined || value === null || typeof value === 'boolean', `${path}: Input should be a valid boolean`, path);
}

/** Refuses unless the condition is true. */
export function insist(condition: boolean, message: string, param: string | null = null): void {
  if (!condition) throw new Refused(message, param);
}

/** Refuses a number that is present but out of range. */
export function range(value: unknown, path: string, min: number, max: number): void {
  if (value === undefined || value === null) return;
  insist(typeof value === 'number' && value >= min && value <= max, `${path}: Input should be between ${min} and ${max}`, path);
}

/** Refuses a number that is present but not an integer in range. */
export function wholeRange(value: unknown, path: string, min: number, max: number): void {
  insist(value === undefined || value === null || Number.isSafeInteger(value), `${path}: Input should be a valid integer`, path);
  range(value, path, min, max);
}

/** Refuses a name that is too long or has characters that the vendors do not accept. */
export function nameOf(value: unknown, path: string, charsMax: number): string {
  const name = textOf(value, path);
  insist(
    new RegExp(`^[a-zA-Z0-9_-]{1,${charsMax}}$`).test(name),
    `${path}: String should match pattern '^[a-zA-Z0-9_-]{1,${charsMax}}$'`,
    path,
  );
  return name;
}

/** Refuses a value that is empty or not Base64. */
export function base64Of(value: unknown, path: string): string {
  const data = textOf(value, path);
  insist(data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data), `${path}: Invalid base64 data`, path);
  return data;
}
