// API keys of an account.
import { keyStateWords } from '#rules/keys/key-state-words.js';
import type { ApiKey, ChangedKey, CreateKey, KeyCreated, KeyRotated, KeyState, UpdateKey } from '../../../gateway/console/schemas/keys.js';
import { api, type Page } from './client.js';

export type { ApiKey, KeyState, UpdateKey };

/** A key with its new secret. */
export interface KeyWithSecret {
  readonly key: ApiKey;
  readonly secret: string;
}

/** All states of a key, in the order of the filter; calls are served in the first two only. */
export const keyStates: readonly KeyState[] = keyStateWords.toReversed();

export type { CreateKey };

/** A search; states separated by commas. */
export interface KeySearch {
  readonly q?: string;
  readonly state?: string;
  readonly project?: string;
  readonly limit?: number;
  readonly cursor?: string | null;
}

const keysOf = (accountId: string): string => `/accounts/${accountId}/keys`;

/** Newest first. A page may be short although more pages follow. */
export const listKeys = (accountId: string, { q, state, project, limit, cursor }: KeySearch, signal?: AbortSignal): Promise<Page<ApiKey>> =>
  api.get(keysOf(accountId), { query: { q, state, project, limit, cursor }, signal });

export const getKey = (accountId: string, keyId: string, signal?: AbortSignal): Promise<ApiKey> =>
  api.get(`${keysOf(accountId)}/${keyId}`, { signal });

/** Creates a key. A repeat with the same idempotency key creates no second key, and its answer has no secret. The first answer, which had it, was lost, so the key is rotated.
 */
export async function createKey(accountId: string, fields: CreateKey, idempotencyKey: string): Promise<KeyWithSecret> {
  const { key, secret } = await api.post<KeyCreated>(keysOf(accountId), { body: fields, idempotencyKey });
  return secret === null ? rotateKey(accountId, key, 0) : { key, secret };
}

/** Changes a key. Like rotation and revocation, it returns what was known before of anything that an unavailable service leaves out of the answer. */
export async function updateKey(accountId: string, key: ApiKey, changes: UpdateKey): Promise<ApiKey> {
  return { ...key, ...(await api.patch<ChangedKey>(`${keysOf(accountId)}/${key.id}`, { body: changes })) };
}

/** Rotates the secret; the previous one remains valid for this many seconds. */
export async function rotateKey(accountId: string, key: ApiKey, overlapSeconds: number): Promise<KeyWithSecret> {
  const rotated = await api.post<KeyRotated>(`${keysOf(accountId)}/${key.id}/rotate`, { body: { overlap_seconds: overlapSeconds } });
  return { key: { ...key, ...rotated.key }, secret: rotated.secret };
}

export async function revokeKey(accountId: string, key: ApiKey): Promise<ApiKey> {
  return { ...key, ...(await api.post<ChangedKey>(`${keysOf(accountId)}/${key.id}/revoke`, { body: {} })) };
}
