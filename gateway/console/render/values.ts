// Instants and absent values as JSON. Pure.

/** An instant of epoch milliseconds, RFC 3339. */
export function instant(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** What is absent is null. */
export function maybe<T, R>(value: T | undefined, render: (value: T) => R): R | null {
  return value === undefined ? null : render(value);
}

/** An empty text, which is how a message says that there is none, is null. */
export function orNull(text: string): string | null {
  return text === '' ? null : text;
}
