// The names of enum values in user interfaces and files.

/** Returns the name of an enum's value without its prefix, in lower case; "unknown" for a value that this version does not know. */
export function enumWord<W extends string = string>(name: string | undefined, prefix: string): W {
  return (name ?? 'unknown').replace(prefix, '').toLowerCase() as W;
}
