// The SQL of second factors, recovery codes and used challenges.
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { SecondFactor } from '#proto/auth/v1/users.js';
import type { Row } from '../../store/rows.js';

/** Maximum number of second factors of one user. */
export const factorsMax = 20;

/** Holds a second factor with its private data. */
export interface StoredFactor {
  readonly userId: string;
  readonly factor: SecondFactor;
  /** Sealed for `factorPurpose`. */
  readonly sealedData: string;
  /** The last accepted step of an authenticator app, or the signature counter of a passkey. */
  readonly counter: number;
}

const columns = ['id', 'user_id', 'kind', 'name', 'sealed_data', 'counter', 'created_at_ms', 'last_used_at_ms'] as const;

/** Returns the purpose for which the data of a factor are sealed, so that they are valid for this factor of this user only. */
export function factorPurpose({ userId, factor }: Pick<StoredFactor, 'userId' | 'factor'>): string {
  return `second-factor ${userId} ${factor.id}`;
}

/** Returns the factor in a row that has all columns. */
export function toStoredFactor(row: Row): StoredFactor {
  return {
    userId: idFromBytes('user', asBytes(row['user_id'])),
    factor: {
      id: idFromBytes('fac', asBytes(row['id'])),
      kind: asNumber(row['kind']),
      name: asText(row['name']),
      createdAtMs: asBigInt(row['created_at_ms']),
      lastUsedAtMs: asBigInt(row['last_used_at_ms']),
    },
    sealedData: asText(row['sealed_data']),
    counter: asNumber(row['counter']),
  };
}

/** Stores second factors. */
export class SecondFactorStore {
  constructor(private readonly db: Database) {}

  /** Returns the factors of a user in order of creation. */
  async list(userId: Buffer, knex: Knex = this.db.knex): Promise<StoredFactor[]> {
    const rows: Row[] = await knex('second_factor')
      .where({ user_id: userId })
      .orderBy('id')
      .limit(factorsMax)
      .select(...columns);
    return rows.map(toStoredFactor);
  }

  /** Returns the passkey with this hash of its credential id. */
  async findByCredential(hash: Buffer): Promise<StoredFactor | undefined> {
    const row: Row | undefined = await this.db
      .knex('second_factor')
      .where({ credential_hash: hash })
      .first(...columns);
    return row === undefined ? undefined : toStoredFactor(row);
  }

  /** Adds a factor. Raises the database's duplicate error for a passkey that was added before. */
  async add(
    tx: Knex.Transaction,
    { userId, factor, sealedData, counter }: StoredFactor,
    credentialHash: Buffer | undefined,
  ): Promise<void> {
    const user = idToBytes('user', userId)!;
    await tx('second_factor').insert({
      id: idToBytes('fac', factor.id),
      user_id: user,
      kind: factor.kind,
      name: factor.name,
      sealed_data: sealedData,
      credential_hash: credentialHash ?? null,
      counter,
      created_at_ms: factor.createdAtMs,
      last_used_at_ms: factor.lastUsedAtMs,
    });
    await tx('person').where({ id: user }).update({ has_second_factor: 1 });
  }

  /** Renames a factor of a user. */
  async rename(tx: Knex.Transaction, userId: Buffer, id: Buffer, name: string): Promise<void> {
    await tx('second_factor').where({ user_id: userId, id }).update({ name });
  }

  /** Removes one factor of a user; with the last one, the recovery codes too. Returns false if the user has no such factor. */
  async remove(tx: Knex.Transaction, userId: Buffer, id: Buffer): Promise<boolean> {
    if ((await tx('second_factor').where({ user_id: userId, id }).delete()) === 0) return false;
    if ((await this.list(userId, tx)).length === 0) await this.removeAll(tx, userId);
    return true;
  }

  /** Removes all factors and recovery codes of a user. */
  async removeAll(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('second_factor').where({ user_id: userId }).delete();
    await tx('recovery_code').where({ user_id: userId }).delete();
    await tx('person').where({ id: userId }).update({ has_second_factor: 0 });
  }

  /** Notes the use of a factor; returns false if a concurrent use has changed the counter. */
  async noteUse(tx: Knex.Transaction, { factor, counter }: StoredFactor, next: number, nowMs: number): Promise<boolean> {
    const query = tx('second_factor').where({ id: idToBytes('fac', factor.id), counter });
    return (await query.update({ counter: next, last_used_at_ms: nowMs })) === 1;
  }

  /** Returns how many recovery codes a user has left. */
  async codesLeft(userId: Buffer): Promise<number> {
    const [row]: Row[] = await this.db.knex('recovery_code').where({ user_id: userId }).count({ codes: '*' });
    return asNumber(row!['codes']);
  }

  /** Replaces the recovery codes of a user. */
  async replaceCodes(tx: Knex.Transaction, userId: Buffer, hashes: readonly Buffer[]): Promise<void> {
    await tx('recovery_code').where({ user_id: userId }).delete();
    await tx('recovery_code').insert(hashes.map((hash) => ({ user_id: userId, code_hash: hash })));
  }

  /** Uses up a recovery code; returns false if the user has no such code. */
  async takeCode(tx: Knex.Transaction, userId: Buffer, hash: Buffer): Promise<boolean> {
    return (await tx('recovery_code').where({ user_id: userId, code_hash: hash }).delete()) === 1;
  }

  /** Uses up a challenge, or another sealed token that works once; returns false if it was used before. */
  async takeChallenge(tx: Knex.Transaction, hash: Buffer, expiresAtMs: number): Promise<boolean> {
    try {
      await tx('used_challenge').insert({ token_hash: hash, expires_at_ms: expiresAtMs });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Removes used challenges that have expired. */
  async sweep(nowMs: number): Promise<void> {
    await this.db.knex('used_challenge').where('expires_at_ms', '<', nowMs).delete();
  }
}
