// What is left of an object of an upstream's when its meaning is taken away. Pure.
import { isObject, type JsonObject } from './stream-decoder.js';

/** The fields that are not known; undefined when there are none. Costs no allocation where nothing is left. */
export function restOf(object: JsonObject, known: ReadonlySet<string>): Record<string, unknown> | undefined {
  let rest: Record<string, unknown> | undefined;
  for (const name in object) {
    if (known.has(name) || object[name] === undefined) continue;
    rest ??= {};
    // A plain assignment of this name would set the prototype.
    Object.defineProperty(rest, name, { value: object[name], enumerable: true, writable: true, configurable: true });
  }
  return rest;
}

/** The same as JSON. */
export function restJson(object: JsonObject, known: ReadonlySet<string>): string | undefined {
  const rest = restOf(object, known);
  return rest === undefined ? undefined : JSON.stringify(rest);
}

/** Both together: objects are merged field by field, anything else of the second replaces the first's. */
export function merged(first: JsonObject | undefined, second: JsonObject | undefined): JsonObject | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const both: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const before = Object.hasOwn(both, name) ? both[name] : undefined;
    both[name] = isObject(before) && isObject(value) ? merged(before, value) : value;
  }
  return both;
}

/** Names of what the upstream charges whoever has the account with it, which is not what the caller is charged. */
export const accountName = /cost|price|byok|credit|billing|balance|currency/i;

/** The fields without those about the account; undefined when none remain. */
export function withoutAccount(fields: JsonObject | undefined): JsonObject | undefined {
  if (fields === undefined) return undefined;
  const names = Object.keys(fields);
  if (!names.some((name) => accountName.test(name))) return fields;
  const kept = Object.entries(fields).filter(([name]) => !accountName.test(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
