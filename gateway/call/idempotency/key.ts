// The Idempotency-Key header: its format, and what is derived from it. The key itself is never stored: an answer is found by a hash of
// the key, and can be decrypted only with the key that a repeat sends.
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '#client/errors/app-error.js';
import { derivedBytes } from '#kit/secrets/packed-box.js';

const charsMax = 255;
// One value of visible ASCII; a header that is sent twice arrives joined by a comma and a space.
const form = /^[\x21-\x7e]+$/;

/** Returns the key of a request, or undefined if it has none. Throws invalid_request if it is malformed. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length <= charsMax && form.test(key)) return key;
  throw new AppError(
    'invalid_request',
    `Idempotency-Key: must be one value of 1 to ${charsMax} visible ASCII characters without spaces, for example a random UUID.`,
    {
      details: { field: 'idempotency-key' },
    },
  );
}

/** Returns the hash that identifies the key of an endpoint in storage. */
export function keyHashOf(endpoint: string, key: string): Buffer {
  return createHash('sha256').update(`tollgate idempotency key\0${endpoint}\0${key}`).digest();
}

/** Returns the secret that encrypts the kept answer of a call with this key. */
export function answerSecretOf(key: string, callId: string): Buffer {
  return derivedBytes(key, { salt: callId, info: 'tollgate kept answer', bytes: 32 });
}

/** Returns a hash of everything in a request that changes the answer: the parsed body, regardless of the order of its fields, and these headers. */
export function fingerprintOf(body: unknown, ...headers: readonly string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([headers, sorted(body)]))
    .digest();
}

/** Returns the value with the fields of every object sorted by name. Bodies are bounded in depth (`json-outline.ts`). */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  // Without a prototype, because a field named __proto__ would otherwise be lost.
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(value).toSorted()) object[name] = sorted((value as Record<string, unknown>)[name]);
  return object;
}
