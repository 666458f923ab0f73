// The header Idempotency-Key: its form, and what is made of it. The key itself is never stored: what is stored under it can be
// found by a hash and be read only by who sends the key again.
import { createHash, hkdfSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '#client/errors/app-error.js';

const charsMax = 255;
// One value of visible ASCII; a header that was sent twice arrives joined by a comma and a space.
const form = /^[\x21-\x7e]+$/;

/** The key of a request, or undefined when it has none. Raises invalid_request when it is malformed. */
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

/** What stands for the key of an endpoint in storage. */
export function keyHashOf(endpoint: string, key: string): Buffer {
  return createHash('sha256').update(`tollgate idempotency key\0${endpoint}\0${key}`).digest();
}

/** The secret that encrypts what is kept of a call under this key. */
export function answerSecretOf(key: string, callId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, callId, 'tollgate kept answer', 32));
}

/** Stands for everything in a request that changes the answer: the parsed body, whatever the order of its fields, and these headers. */
export function fingerprintOf(body: unknown, ...headers: readonly string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([headers, sorted(body)]))
    .digest();
}

/** The value with the fields of every object in the order of their names. Bodies are bounded in depth (`json-shape.ts`). */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  // Without a prototype, or a field named __proto__ would be lost.
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(value).toSorted()) object[name] = sorted((value as Record<string, unknown>)[name]);
  return object;
}
