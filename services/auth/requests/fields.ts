// Validation of single request fields. Each function returns the value to work with or raises invalid_request, whose
// details.field names the field.
import { AppError } from '#client/errors/app-error.js';
import { fieldFault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import { canonicalBlock } from '#kit/net/address-set.js';
import type { ModelPermission } from '#proto/auth/v1/auth.js';

const nameCharactersMax = 200;
const idempotencyKeyCharactersMax = 200;
// With ids of 200 characters a page of 1000 such keys has 31 MB, below the largest message.
const modelIdsMax = 150;
const searchCharactersMax = 200;
/** A catalog id. */
export const modelIdForm = /^[\x21-\x7e]{1,200}$/;
const addressesMax = 50;
const secretHashBytes = 32;
// The end of the year 9999; later years have no four-digit form in ISO 8601.
const expiresAtMsMax = 253_402_300_799_999n;
const overlapMsMax = 30 * 86_400_000;
export const int64Max = 2n ** 63n - 1n;

/** Returns an invalid_request about one field; the message says what the field must be. */
export function invalidField(field: string, message: string): AppError {
  return new AppError('invalid_request', message, { details: { field } });
}

/** Returns the bytes of an account id. */
export function accountIdBytes(accountId: string): Buffer {
  return checkedId('account_id', 'acct', accountId);
}

/** Returns the bytes of a project id. */
export function projectIdBytes(projectId: string): Buffer {
  return checkedId('project_id', 'proj', projectId);
}

/** Returns the bytes of a key id. */
export function keyIdBytes(keyId: string): Buffer {
  return checkedId('key_id', 'key', keyId);
}

/** Returns the bytes of the id of a webhook endpoint. */
export function endpointIdBytes(endpointId: string): Buffer {
  return checkedId('endpoint_id', 'whe', endpointId);
}

/** Returns the bytes of the id of a notification. */
export function deliveryIdBytes(deliveryId: string): Buffer {
  return checkedId('delivery_id', 'ntf', deliveryId);
}

/** Returns the bytes of an id with this prefix. */
export function checkedId(field: string, prefix: string, id: string): Buffer {
  const bytes = idToBytes(prefix, id);
  if (bytes === undefined) throw fieldFault(field, 'id', { prefix });
  return bytes;
}

/** Checks a display name: 1 to 200 characters, not blank, without control characters. */
export function checkedName(name: string): string {
  const length = [...name].length;
  if (name.trim() === '' || length > nameCharactersMax) throw fieldFault('name', 'name', { max: nameCharactersMax });
  if (/\p{Cc}/u.test(name)) throw fieldFault('name', 'no_control_characters');
  return name;
}

/** Returns a trimmed search text, empty for none. A text that begins with "acct_" must be an account id or its first digits. */
export function checkedSearch(search: string): string {
  const text = search.trim();
  if ([...text].length > searchCharactersMax) throw fieldFault('search', 'max_length', { max: searchCharactersMax });
  if (text.startsWith('acct_') && !/^acct_[0-9a-f]{0,32}$/.test(text)) {
    throw fieldFault('search', 'account_search');
  }
  return text;
}

/** Returns an idempotency key, or undefined when the call is not repeatable. */
export function checkedIdempotencyKey(idempotencyKey: string): string | undefined {
  if (idempotencyKey === '') return undefined;
  if (idempotencyKey.length > idempotencyKeyCharactersMax || /\p{Cc}/u.test(idempotencyKey)) {
    throw fieldFault('idempotency_key', 'printable', { max: idempotencyKeyCharactersMax });
  }
  return idempotencyKey;
}

/** Returns a model permission without duplicates. */
export function checkedModels(models: ModelPermission): ModelPermission {
  if (models.allModels) {
    if (models.modelIds.length > 0) throw fieldFault('models.model_ids', 'no_models');
    return models;
  }
  const modelIds = [...new Set(models.modelIds)];
  if (modelIds.length === 0) throw fieldFault('models.model_ids', 'some_models');
  if (modelIds.length > modelIdsMax) throw fieldFault('models.model_ids', 'max_models', { max: modelIdsMax });
  if (!modelIds.every((id) => modelIdForm.test(id))) {
    throw fieldFault('models.model_ids', 'model_ids');
  }
  return { allModels: false, modelIds };
}

/** Returns addresses and CIDR blocks in one spelling, without duplicates. */
export function checkedAddresses(addresses: readonly string[]): string[] {
  if (addresses.length > addressesMax) throw fieldFault('allowed_addresses', 'max_items', { max: addressesMax });
  const blocks = addresses.map((address) => {
    const block = canonicalBlock(address);
    if (block === undefined) throw fieldFault('allowed_addresses', 'address_block', { address: address.slice(0, 60) });
    return block;
  });
  return [...new Set(blocks)];
}

/** Checks that a lifetime limit is above zero. */
export function checkedLifetimeLimit(limitNanoUsd: bigint): bigint {
  if (limitNanoUsd <= 0n || limitNanoUsd > int64Max) {
    throw fieldFault('lifetime_limit_nano_usd', 'positive_limit');
  }
  return limitNanoUsd;
}

/** Checks that an expiry is in the future and not after the year 9999. */
export function checkedExpiry(expiresAtMs: bigint, nowMs: number): bigint {
  if (expiresAtMs <= BigInt(nowMs)) {
    throw fieldFault('expires_at_ms', 'future_expiry');
  }
  if (expiresAtMs > expiresAtMsMax) throw fieldFault('expires_at_ms', 'before_year', { year: 10_000 });
  return expiresAtMs;
}

/** Returns how long previous secrets remain valid after a rotation. */
export function checkedOverlap(overlapMs: number): bigint {
  if (overlapMs > overlapMsMax) throw fieldFault('overlap_ms', 'range', { min: 0, max: overlapMsMax });
  return BigInt(overlapMs);
}

/** Checks that a hash has the length of a SHA-256. */
export function checkedSecretHash(secretHash: Uint8Array): Buffer {
  if (secretHash.length !== secretHashBytes)
    throw invalidField('secret_hash', `secret_hash must be the ${secretHashBytes} bytes of a SHA-256.`);
  return Buffer.from(secretHash);
}
