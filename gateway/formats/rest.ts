// The rest of an answer: what an upstream sent alongside the meaning of its events, for callers of its format. This file merges the pieces
// and adds them to what the encoders write. Pure.

/** A JSON object that this process has parsed itself and so may modify. */
export type JsonObject = Record<string, unknown>;

/** Reports whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses an object that inference has serialised. */
export function parseObject(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  if (!isObject(value)) throw new TypeError('The rest of an answer is an object.');
  return value;
}

/** Returns JSON on one line, as a server-sent event requires: a line break in JSON is never part of a value. */
export function oneLine(json: string): string {
  return json.replaceAll(/[\r\n]+/g, ' ');
}

/** Returns the object without some of its fields. */
export function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  const rest: JsonObject = {};
  // An assignment to __proto__ would change the prototype instead of a field.
  for (const name of Object.keys(object)) if (!names.has(name) && name !== '__proto__') rest[name] = object[name];
  return rest;
}

/** Returns the object in a field; an empty one if there is none. */
export function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isObject(value) ? value : {};
}

/** How texts are merged: those of a delta are pieces of one text, all others are complete. */
export type Texts = 'pieces' | 'whole';

// Repeated with every piece, not sent piece by piece.
const labels = new Set(['format', 'id', 'index', 'name', 'object', 'role', 'signature', 'status', 'type']);

/**
 * Merges a later piece into the earlier ones, as the vendors' own libraries do: lists are joined, objects merged, pieces of text joined,
 * anything else replaced. In deltas, list items of the same index are pieces of one item. A null is ignored.
 */
export function mergeInto(target: JsonObject, addition: JsonObject, texts: Texts): void {
  for (const [name, value] of Object.entries(addition)) {
    // An assignment to this name would change the prototype instead of a field.
    if (name === '__proto__') continue;
    target[name] = merged(name, Object.hasOwn(target, name) ? target[name] : undefined, value, texts);
  }
}

function merged(name: string, before: unknown, value: unknown, texts: Texts): unknown {
  if (value === null) return before ?? null;
  if (Array.isArray(before) && Array.isArray(value)) {
    for (const item of value) addItem(before, item, texts);
    return before;
  }
  if (isObject(before) && isObject(value)) {
    mergeInto(before, value, texts);
    return before;
  }
  if (texts === 'pieces' && typeof before === 'string' && typeof value === 'string' && !labels.has(name)) return before + value;
  return value;
}

function addItem(list: unknown[], item: unknown, texts: Texts): void {
  const index = texts === 'pieces' && isObject(item) ? item['index'] : undefined;
  const same = index === undefined ? undefined : list.find((other) => isObject(other) && other['index'] === index);
  if (isObject(same) && isObject(item)) mergeInto(same, item, texts);
  else list.push(item);
}

/** Returns our fields plus the other fields of the rest; ours take precedence. */
export function filled(ours: JsonObject, rest: JsonObject): JsonObject {
  const all: JsonObject = { ...ours };
  for (const [name, value] of Object.entries(rest)) {
    const own = Object.hasOwn(ours, name) ? ours[name] : undefined;
    if (name === '__proto__') continue;
    if (own === undefined || own === null) all[name] = value;
    else if (isObject(own) && isObject(value)) all[name] = filled(own, value);
  }
  return all;
}
