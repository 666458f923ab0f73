// The caller's own fields as text, for upstreams of its format.

/** Holds a body as it was parsed, and the text of its fields. */
export interface Original {
  readonly body: unknown;
  /** By name; absent if the text is not known, or may not be passed on. */
  readonly fields?: ReadonlyMap<string, string>;
}

/**
 * Returns a body as JSON without the named fields; the order and null fields stay as the caller wrote them. Fields that are the same objects
 * as in the original are copied from its text: printing a long prompt takes longer than all else that happens to it.
 */
export function fieldsWithout(body: object, names: Iterable<string>, original?: Original): string {
  const excluded = new Set(names);
  const parsed = original?.body as Record<string, unknown> | undefined;
  const fields: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || excluded.has(name)) continue;
    const json = parsed?.[name] === value ? original?.fields?.get(name) : undefined;
    fields.push(`${JSON.stringify(name)}:${json ?? JSON.stringify(value)}`);
  }
  return `{${fields.join(',')}}`;
}

/**
 * Reports whether an unknown field differs from a known one only by case. Some servers match names case-insensitively
 * (Go's encoding/json does) and would read such a field as the known one: another model, or another cap than is paid for.
 */
export function isKnownInOtherCase(name: string, known: object): boolean {
  const folded = fold(name);
  return Object.keys(known).some((each) => fold(each) === folded);
}

/** Folds the case of a name. It converts to upper case first, because some letters have an ASCII form only in upper case. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}
