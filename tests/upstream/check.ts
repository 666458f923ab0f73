// The means by which the stub refuses requests as strictly as the vendors do.

/** A request that the vendor would refuse. */
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

/** Whether the value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object with no other keys than these, of which the required ones are there. */
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

/** The value as an object of any keys. */
export function anyObject(value: unknown, path: string): Json {
  if (!isJson(value)) throw new Refused(`${path}: Input should be an object`, path);
  return value;
}

/** The value as a list that is not empty. */
export function listOf(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new Refused(`${path}: Input should be a list with at least one item`, path);
  return value;
}

/** The value as text. */
export function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Refused(`${path}: Input should be a valid string`, path);
  return value;
}

/** The value as one of some words. */
export function wordOf(value: unknown, path: string, words: readonly string[]): string {
  const word = textOf(value, path);
  if (!words.includes(word)) throw new Refused(`${path}: Input should be ${words.map((allowed) => `'${allowed}'`).join(' or ')}`, path);
  return word;
}

/** Refuses what is there and is no boolean. */
export function optionalFlag(value: unknown, path: string): void {
  insist(value === undefined || value === null || typeof value === 'boolean', `${path}: Input should be a valid boolean`, path);
}

/** Refuses unless the condition holds. */
export function insist(condition: boolean, message: string, param: string | null = null): void {
  if (!condition) throw new Refused(message, param);
}

/** Refuses a number that is there but out of range. */
export function range(value: unknown, path: string, min: number, max: number): void {
  if (value === undefined || value === null) return;
  insist(typeof value === 'number' && value >= min && value <= max, `${path}: Input should be between ${min} and ${max}`, path);
}

/** Refuses a number that is there but no whole one in range. */
export function wholeRange(value: unknown, path: string, min: number, max: number): void {
  insist(value === undefined || value === null || Number.isSafeInteger(value), `${path}: Input should be a valid integer`, path);
  range(value, path, min, max);
}

/** Refuses a name of other letters than the vendors take, or one that is too long. */
export function nameOf(value: unknown, path: string, charsMax: number): string {
  const name = textOf(value, path);
  insist(
    new RegExp(`^[a-zA-Z0-9_-]{1,${charsMax}}$`).test(name),
    `${path}: String should match pattern '^[a-zA-Z0-9_-]{1,${charsMax}}$'`,
    path,
  );
  return name;
}

/** Refuses what is no Base64, or none at all. */
export function base64Of(value: unknown, path: string): string {
  const data = textOf(value, path);
  insist(data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data), `${path}: Invalid base64 data`, path);
  return data;
}
