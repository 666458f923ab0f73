// The caller's own fields as text, for upstreams of its format.

/** A body as JSON without the fields named; the order, and null fields, stay as the caller wrote them. */
export function fieldsWithout(body: object, names: Iterable<string>): string {
  const rest: Record<string, unknown> = { ...body };
  // Undefined fields are not written, and setting them is cheaper than deleting.
  for (const name of names) if (Object.hasOwn(rest, name)) rest[name] = undefined;
  return JSON.stringify(rest);
}
