// Reads values from the two drivers: SQLite returns every integer as bigint, MySQL returns BIGINT as string and INT as number.

/** Returns an integer column as a bigint. */
export function asBigInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' || typeof value === 'string') return BigInt(value);
  throw new TypeError(`Not an integer column: ${typeof value}`);
}

/** Returns an integer column that is known to be small (below 2^53) as a number. */
export function asNumber(value: unknown): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError('Integer column out of the safe range.');
  return number;
}

/** Returns a nullable column: undefined for NULL, otherwise the result of `read`. */
export function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

/** Returns a binary column. */
export function asBytes(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value);
  throw new TypeError('Not a binary column.');
}

/** Returns a text column. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('Not a text column.');
}
