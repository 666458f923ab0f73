// The caller's own fields as text, for upstreams of its format.
import type { BodyText } from '../format.js';

/** Holds a body as it was parsed, and its text. */
export interface Original {
  readonly body: unknown;
  /** Absent if it is not known, or may not be passed on. */
  readonly text?: BodyText;
}

/**
 * Returns a body as JSON without the named fields; the order and null fields stay as the caller wrote them. Fields and
 * messages that are the same objects as in the original are copied from its text: printing a long prompt takes longer than all else that happens to it.
 */
export function fieldsWithout(body: object, names: Iterable<string>, original?: Original): string {
  const excluded = new Set(names);
  return fieldsJson(body, (name) => !excluded.has(name), original);
}

/** Returns only the named fields of a body as JSON, as `fieldsWithout`; empty if there are none. */
export function onlyFields(body: object, names: readonly string[], original?: Original): string {
  const wanted = new Set(names);
  return wanted.size === 0 ? '' : fieldsJson(body, (name) => wanted.has(name), original);
}

function fieldsJson(body: object, isWanted: (name: string) => boolean, original: Original | undefined): string {
  const parsed = original?.body as Record<string, unknown> | undefined;
  let fields = '';
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || !isWanted(name)) continue;
    const before = parsed?.[name];
    const json = before === value ? original?.text?.fields.get(name) : undefined;
    // Concatenation copies nothing yet; a join would copy a long prompt once more.
    fields += `${fields === '' ? '' : ','}${JSON.stringify(name)}:${json ?? listJson(value, before, original?.text?.lists.get(name))}`;
  }
  return `{${fields}}`;
}

/** Returns a value as JSON. In a long conversation only a few elements need a change, such as answers that a library replays with its own fields. */
function listJson(value: unknown, before: unknown, texts: readonly string[] | undefined): string {
  if (texts === undefined || !Array.isArray(value) || !Array.isArray(before)) return JSON.stringify(value);
  const known = new Map(before.map((element: unknown, index) => [element, texts[index]]));
  return `[${value.map((element: unknown) => known.get(element) ?? JSON.stringify(element)).join(',')}]`;
}

/**
 * Reports whether an unknown field differs from a known one only by case. Some servers match names case-insensitively
 * (Go's encoding/json does) and would read such a field as the known one: another model, or another cap than is paid for.
 */
export function isKnownInOtherCase(name: string, known: object): boolean {
  let folded = foldedNames.get(known);
  if (folded === undefined) foldedNames.set(known, (folded = new Set(Object.keys(known).map(fold))));
  return folded.has(fold(name));
}

/** The folded names of each schema: a body may have a million unknown fields. */
const foldedNames = new WeakMap<object, ReadonlySet<string>>();

/** Folds the case of a name. It converts to upper case first, because some letters have an ASCII form only in upper case. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}
