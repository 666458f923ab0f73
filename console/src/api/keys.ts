// API keys of an account.
import { ApiError, api, type Page } from './client.js';

/** How a key stands (proto/rules/key-state.ts); calls are served in the first two only. */
export const keyStates = ['active', 'rotating', 'limit_reached', 'expired', 'disabled', 'suspended', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

/** A key without its secret. Amounts are decimal-string USD. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly last_four: string;
  readonly state: KeyState;
  /** Null: all, present and future. */
  readonly models: readonly string[] | null;
  /** Null: no limit. */
  readonly limit_usd: string | null;
  readonly spent_usd: string;
  readonly held_usd: string;
  readonly remaining_usd: string | null;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly revoked_at: string | null;
  /** Secrets of before are accepted until then. */
  readonly former_secrets_until: string | null;
  readonly last_used_at: string | null;
  readonly last_used_model: string | null;
  readonly last_used_request_id: string | null;
}

/** A key and its secret, which is told once. */
export interface KeyWithSecret {
  readonly key: ApiKey;
  readonly secret: string;
}

/** What a key may be given. In a change, absent leaves a field as it is and null takes it away. */
export interface KeyFields {
  readonly name?: string;
  readonly models?: readonly string[] | null;
  readonly limit_usd?: string | null;
  readonly expires_at?: string | null;
}

/** What is searched for; states separated by commas. */
export interface KeySearch {
  readonly q?: string;
  readonly state?: string;
  readonly limit?: number;
  readonly cursor?: string | null;
}

const keysOf = (accountId: string): string => `/accounts/${accountId}/keys`;

/** Newest first. A page may be short though `next` tells of more. */
export const listKeys = (accountId: string, { q, state, limit, cursor }: KeySearch, signal?: AbortSignal): Promise<Page<ApiKey>> =>
  api.get(keysOf(accountId), { query: { q, state, limit, cursor }, signal });

export const getKey = (accountId: string, keyId: string, signal?: AbortSignal): Promise<ApiKey> =>
  api.get(`${keysOf(accountId)}/${keyId}`, { signal });

/**
 * Makes a key. A repeat with the same idempotency key makes no second one and is not told the secret: then nobody has it, because the
 * first answer was lost, and the key is given a new one.
 */
export async function createKey(accountId: string, fields: KeyFields, idempotencyKey: string): Promise<KeyWithSecret> {
  const { key, secret } = await api.post<{ key: ApiKey; secret: string | null }>(keysOf(accountId), { body: fields, idempotencyKey });
  return secret === null ? rotateKey(accountId, key.id, 0) : { key, secret };
}

export const updateKey = (
  accountId: string,
  keyId: string,
  changes: KeyFields & { readonly state?: 'active' | 'disabled' },
): Promise<ApiKey> => api.patch(`${keysOf(accountId)}/${keyId}`, { body: changes });

/** A new secret; the one of before is accepted for so many seconds more. */
export const rotateKey = (accountId: string, keyId: string, overlapSeconds: number): Promise<KeyWithSecret> =>
  api.post(`${keysOf(accountId)}/${keyId}/rotate`, { body: { overlap_seconds: overlapSeconds } });

export const revokeKey = (accountId: string, keyId: string): Promise<ApiKey> =>
  api.post(`${keysOf(accountId)}/${keyId}/revoke`, { body: {} });

/** Whether a refusal is about a field, or about a part of it (`models.3`). */
export function isAbout(error: unknown, field: string): error is ApiError {
  return error instanceof ApiError && (error.field === field || error.field?.startsWith(`${field}.`) === true);
}
