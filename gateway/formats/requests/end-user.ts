// The caller's own name for its end user, hashed before it leaves the gateway.
import { createHash } from 'node:crypto';

/** Returns the SHA-256 of the name in hexadecimal digits; empty for none. Vendors can distinguish end users by it but learn nothing else. */
export function endUserOf(name: string | null | undefined): string {
  return name === null || name === undefined || name === '' ? '' : createHash('sha256').update(name).digest('hex');
}
