// Short hashes of texts: 16 bytes of SHA-256, as 32 hexadecimal digits.
import { hash } from 'node:crypto';

/** Tells two sets of parameters apart. Every part is part of it, in order. */
export function fingerprintOf(parts: readonly (string | bigint | number)[]): string {
  return hash('sha256', JSON.stringify(parts.map(String)), 'hex').slice(0, 32);
}
