// Conversions between rows of the database and messages of the contract.
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { Account, Key } from '#proto/auth/v1/auth.js';
import { accountRateLimitsIn, rateLimitsColumn, rateLimitsIn } from '../requests/rate-limits.js';

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of an account that `toAccount` reads. */
export const accountColumns = ['id', 'name', 'state', 'created_at_ms', 'version', 'state_reason', 'rate_limits'] as const;

/** Returns the account in a row. */
export function toAccount(row: Row): Account {
  return {
    id: idFromBytes('acct', asBytes(row['id'])),
    name: asText(row['name']),
    state: asNumber(row['state']),
    createdAtMs: asBigInt(row['created_at_ms']),
    version: asBigInt(row['version']),
    stateReason: asText(row['state_reason']),
    rateLimits: optional(row['rate_limits'], (value) => accountRateLimitsIn(asText(value))),
  };
}

/** The columns of a key that `toKey` reads. */
export const keyColumns = [
  'id',
  'account_id',
  'name',
  'last_four',
  'model_ids',
  'lifetime_limit_nano_usd',
  'expires_at_ms',
  'state',
  'created_at_ms',
  'revoked_at_ms',
  'version',
  'secret_version',
  'previous_secrets_expire_at_ms',
  'rate_limits',
] as const;

/** Returns the key in a row, without the hash of its secret. */
export function toKey(row: Row): Key {
  const modelIds = optional(row['model_ids'], asText);
  return {
    id: idFromBytes('key', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    name: asText(row['name']),
    lastFour: asText(row['last_four']),
    models: modelIds === undefined ? { allModels: true, modelIds: [] } : { allModels: false, modelIds: JSON.parse(modelIds) as string[] },
    lifetimeLimitNanoUsd: optional(row['lifetime_limit_nano_usd'], asBigInt),
    expiresAtMs: optional(row['expires_at_ms'], asBigInt),
    state: asNumber(row['state']),
    createdAtMs: asBigInt(row['created_at_ms']),
    revokedAtMs: optional(row['revoked_at_ms'], asBigInt),
    version: asBigInt(row['version']),
    secretVersion: asBigInt(row['secret_version']),
    previousSecretsExpireAtMs: optional(row['previous_secrets_expire_at_ms'], asBigInt),
    rateLimits: optional(row['rate_limits'], (value) => rateLimitsIn(asText(value))),
    projectId: '',
  };
}

/** Returns the columns of a key that can change. */
export function changeableKeyColumns(key: Key): Row {
  return {
    name: key.name,
    model_ids: key.models === undefined || key.models.allModels ? null : JSON.stringify(key.models.modelIds),
    lifetime_limit_nano_usd: key.lifetimeLimitNanoUsd ?? null,
    expires_at_ms: key.expiresAtMs ?? null,
    state: key.state,
    revoked_at_ms: key.revokedAtMs ?? null,
    rate_limits: rateLimitsColumn(key.rateLimits),
  };
}
