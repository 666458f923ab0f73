// The caller's own fields as text, for upstreams of its format.

/** A body as JSON without the fields named; the order, and null fields, stay as the caller wrote them. */
export function fieldsWithout(body: object, names: Iterable<string>): string {
  const rest: Record<string, unknown> = { ...body };
  // Undefined fields are not written, and setting them is cheaper than deleting.
  for (const name of names) if (Object.hasOwn(rest, name)) rest[name] = undefined;
  return JSON.stringify(rest);
}

/**
 * Whether a field that is not among the known ones differs from one of them by case only. Some servers read names whatever their case
 * (Go's encoding/json does), and would take such a field for the known one: for another model, or another cap than is paid for.
 */
export function isKnownInOtherCase(name: string, known: object): boolean {
  const folded = fold(name);
  return Object.keys(known).some((each) => fold(each) === folded);
}

/** To upper case first: there are letters whose upper case alone is a plain one. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}
