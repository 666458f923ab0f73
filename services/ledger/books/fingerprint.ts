// Short hashes of texts: 16 bytes of SHA-256, as 32 hexadecimal digits.
import { hash } from 'node:crypto';

/** Returns a fingerprint that differs for different sets of parameters. Every part counts, in order. */
export function fingerprintOf(parts: readonly (string | bigint | number)[]): string {
  return hash('sha256', JSON.stringify(parts.map(String)), 'hex').slice(0, 32);
}
