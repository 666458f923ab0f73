// The caller's own fields as text, for upstreams of its format.

/** Returns a body as JSON without the named fields; the order and null fields stay as the caller wrote them. */
export function fieldsWithout(body: object, names: Iterable<string>): string {
  const rest: Record<string, unknown> = { ...body };
  // Undefined fields are not written, and setting them is cheaper than deleting.
  for (const name of names) if (Object.hasOwn(rest, name)) rest[name] = undefined;
  return JSON.stringify(rest);
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
