// The SQL of the keys with which auth signs actor tokens.
import type { Database } from '#kit/db/open.js';
import { isDuplicate } from '#kit/db/errors.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import type { Row } from '../store/rows.js';

/** Holds a key as it is stored. */
export interface StoredSigningKey {
  /** 1, 2, 3 … in the order of creation. */
  readonly number: number;
  /** The thumbprint of the public key (RFC 7638). */
  readonly kid: string;
  readonly publicKey: Buffer;
  /** As SecretBox sealed it. */
  readonly sealedPrivateKey: string;
  readonly createdAtMs: number;
  /** Tokens are signed with it from this time on, until a later key begins. */
  readonly signsFromMs: number;
}

/** Stores the keys, which all replicas of auth share. */
export class SigningKeyStore {
  constructor(private readonly db: Database) {}

  /** Returns all keys, oldest first; there are only a few. */
  async list(): Promise<StoredSigningKey[]> {
    const rows: Row[] = await this.db
      .knex('signing_key')
      .orderBy('number')
      .select('number', 'kid', 'public_key', 'sealed_private_key', 'created_at_ms', 'signs_from_ms');
    return rows.map((row) => ({
      number: asNumber(row['number']),
      kid: String(row['kid']),
      publicKey: asBytes(row['public_key']),
      sealedPrivateKey: String(row['sealed_private_key']),
      createdAtMs: asNumber(row['created_at_ms']),
      signsFromMs: asNumber(row['signs_from_ms']),
    }));
  }

  /** Adds a key; returns false when another replica has added one with this number. */
  async add(key: StoredSigningKey): Promise<boolean> {
    try {
      await this.db.knex('signing_key').insert({
        number: key.number,
        kid: key.kid,
        public_key: key.publicKey,
        sealed_private_key: key.sealedPrivateKey,
        created_at_ms: key.createdAtMs,
        signs_from_ms: key.signsFromMs,
      });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Removes all keys with lower numbers than this one. */
  async removeBefore(number: number): Promise<void> {
    await this.db.knex('signing_key').where('number', '<', number).delete();
  }
}
