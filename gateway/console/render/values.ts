// Times and absent values as JSON. Pure.

/** Returns a time in epoch milliseconds as RFC 3339. */
export function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** Returns null for an absent value. */
export function maybe<T, R>(value: T | undefined, render: (value: T) => R): R | null {
  return value === undefined ? null : render(value);
}

/** Returns null for an empty text, by which messages represent an absent one. */
export function orNull(text: string): string | null {
  return text === '' ? null : text;
}
