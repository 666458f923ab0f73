// The key of a request that also names the account.
import type { Key } from '#proto/auth/v1/auth.js';
import { accountIdBytes, keyIdBytes } from './fields.js';
import { found } from './found.js';

/** Holds the id of the key, and a check that the account owns it. */
export interface OwnKey {
  readonly id: Buffer;
  /** Raises not_found for a key of another account, as for a key that does not exist. */
  check(key: Key): void;
}

/** Raises invalid_request for a malformed id. */
export function ownKey({ keyId, accountId }: { readonly keyId: string; readonly accountId: string }): OwnKey {
  accountIdBytes(accountId);
  return {
    id: keyIdBytes(keyId),
    check: (key) => void found(key.accountId === accountId ? key : undefined, 'key'),
  };
}
