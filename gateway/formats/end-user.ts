// The caller's own name for its end user, made opaque before it leaves the gateway.
import { createHash } from 'node:crypto';

/** The SHA-256 of the name in hexadecimal digits; empty for none. Vendors tell end users apart by it and learn nothing else. */
export function endUserOf(name: string | null | undefined): string {
  return name === null || name === undefined || name === '' ? '' : createHash('sha256').update(name).digest('hex');
}
