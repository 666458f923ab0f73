// Tokens of sessions, links and invitations: 256 random bits, of which only the SHA-256 is stored.
import { createHash, randomBytes } from 'node:crypto';

/** Returns a new token of 43 characters, and the hash under which it is found. */
export function mintToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** Returns the 32 bytes under which a token is found. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
