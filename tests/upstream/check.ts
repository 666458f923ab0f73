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

/** The value as an object with no other keys than these, of which the required ones are there. */
export function objectOf(value: unknown, path: string, required: readonly string[], optional: readonly string[] = []): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refused(`${path}: Input should be an object`, path);
  const object = value as Json;
  for (const key of required) {
    if (object[key] === undefined) throw new Refused(`${path === '' ? '' : `${path}.`}${key}: Field required`, key);
  }
  for (const key of Object.keys(object)) {
    if (!required.includes(key) && !optional.includes(key)) throw new Refused(`${path === '' ? '' : `${path}.`}${key}: Extra inputs are not permitted`, key);
  }
  return object;
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

/** Refuses unless the condition holds. */
export function insist(condition: boolean, message: string, param: string | null = null): void {
  if (!condition) throw new Refused(message, param);
}

/** Refuses a number that is there but out of range. */
export function range(value: unknown, path: string, min: number, max: number): void {
  if (value === undefined || value === null) return;
  insist(typeof value === 'number' && value >= min && value <= max, `${path}: Input should be between ${min} and ${max}`, path);
}
