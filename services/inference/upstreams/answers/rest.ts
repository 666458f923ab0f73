// What remains of an upstream's object once its meaning is removed. Pure.
import { isObject, type JsonObject } from './stream-decoder.js';

/** Returns the fields that are not known; undefined if there are none. Allocates nothing if nothing is left. */
export function restOf(object: JsonObject, known: ReadonlySet<string>): Record<string, unknown> | undefined {
  let rest: Record<string, unknown> | undefined;
  for (const name in object) {
    if (known.has(name) || object[name] === undefined) continue;
    rest ??= {};
    // A plain assignment to the name __proto__ would set the prototype.
    Object.defineProperty(rest, name, { value: object[name], enumerable: true, writable: true, configurable: true });
  }
  return rest;
}

/** Returns the same as `restOf`, as JSON. */
export function restJson(object: JsonObject, known: ReadonlySet<string>): string | undefined {
  const rest = restOf(object, known);
  return rest === undefined ? undefined : JSON.stringify(rest);
}

/** Merges two objects: nested objects are merged field by field, any other field of the second replaces the first's. */
export function merged(first: JsonObject | undefined, second: JsonObject | undefined): JsonObject | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const both: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const before = Object.hasOwn(both, name) ? both[name] : undefined;
    both[name] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return both;
}

/** Matches names of what the upstream charges the holder of the vendor account, which is not what the caller is charged. */
export const accountName = /cost|price|byok|credit|billing|balance|currency/i;

/** Returns the fields without those about the account; undefined if none remain. */
export function withoutAccount(fields: JsonObject | undefined): JsonObject | undefined {
  if (fields === undefined) return undefined;
  const names = Object.keys(fields);
  if (!names.some((name) => accountName.test(name))) return fields;
  const kept = Object.entries(fields).filter(([name]) => !accountName.test(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
