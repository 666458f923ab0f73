// Repeated calls with one idempotency key: the first one creates an object, the others return it.
import { fault } from '#client/errors/fault.js';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IdempotencyStore, RepeatableCall, RepeatableMethod } from '../store/idempotency.js';
import { checkedIdempotencyKey } from './fields.js';

/** Returns what identifies a call with an idempotency key; undefined when it has none. `parameters` is its request, encoded without that key. */
export function repeatableCall(method: RepeatableMethod, idempotencyKey: string, parameters: Uint8Array): RepeatableCall | undefined {
  const checked = checkedIdempotencyKey(idempotencyKey);
  if (checked === undefined) return undefined;
  return { method, idempotencyKey: checked, fingerprint: createHash('sha256').update(parameters).digest() };
}

/**
 * Answers a repeat with `findFirst` of the id that the first call created, and any other call with `create`. `create` returns
 * undefined when a concurrent call with the same idempotency key was faster. Raises idempotency_mismatch when the first call
 * had different parameters.
 */
export async function firstOrRepeat<T>(
  call: RepeatableCall | undefined,
  idempotency: IdempotencyStore,
  create: () => Promise<T | undefined>,
  findFirst: (createdId: Buffer) => Promise<T>,
): Promise<T> {
  const earlier = await findEarlier(call, idempotency);
  if (earlier !== undefined) return findFirst(earlier);
  const created = await create();
  if (created !== undefined) return created;
  const faster = await findEarlier(call, idempotency);
  assert(faster !== undefined);
  return findFirst(faster);
}

async function findEarlier(call: RepeatableCall | undefined, idempotency: IdempotencyStore): Promise<Buffer | undefined> {
  if (call === undefined) return undefined;
  const earlier = await idempotency.find(call.method, call.idempotencyKey);
  if (earlier === undefined) return undefined;
  if (!earlier.fingerprint.equals(call.fingerprint)) {
    throw fault('idempotency_mismatch', {}, { details: { field: 'idempotency_key' } });
  }
  return earlier.createdId;
}
