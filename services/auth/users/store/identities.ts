// The SQL of identities at providers, and of people who come by themselves with an account of their own.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { Account } from '#proto/auth/v1/auth.js';
import { type Identity, Role, type User } from '#proto/auth/v1/users.js';
import type { IdentityClaims } from '../identity-claims.js';
import { insertAccount } from '../../store/accounts.js';
import { nextChangeNumber } from '../../store/changes.js';
import type { Row } from '../../store/rows.js';
import { insertPerson, type Person } from './users.js';

/** An identity that is to be connected. */
export interface NewIdentity {
  readonly id: string;
  readonly claims: IdentityClaims;
  readonly createdAtMs: bigint;
}

/** Most identities of one person. */
export const identitiesMax = 20;

const columns = ['id', 'issuer', 'email', 'created_at_ms'] as const;

/** Keeps who is connected with which identity. */
export class IdentityStore {
  constructor(private readonly db: Database) {}

  /** The id of the person who is connected with this identity. */
  async findUser(claims: Pick<IdentityClaims, 'issuer' | 'subject'>): Promise<Buffer | undefined> {
    const row: Row | undefined = await this.db
      .knex('person_identity')
      .where({ identity_hash: identityHash(claims) })
      .first('user_id');
    return row === undefined ? undefined : asBytes(row['user_id']);
  }

  async list(userId: Buffer): Promise<Identity[]> {
    const rows: Row[] = await this.db
      .knex('person_identity')
      .where({ user_id: userId })
      .orderBy('id')
      .limit(identitiesMax)
      .select(...columns);
    return rows.map((row) => ({
      id: idFromBytes('idn', asBytes(row['id'])),
      issuer: asText(row['issuer']),
      email: asText(row['email']),
      createdAtMs: asBigInt(row['created_at_ms']),
    }));
  }

  /** Connects an identity. Raises a duplicate of the database when it is connected already. */
  async add(tx: Knex.Transaction, userId: Buffer, identity: NewIdentity): Promise<void> {
    await insertIdentity(tx, userId, identity);
  }

  /**
   * Connects an identity with the person of a proven address, unless they are disabled, the address has changed hands meanwhile, or they
   * are connected with another identity of the same provider. False when it was not done.
   */
  async addByEmail(tx: Knex.Transaction, user: User, identity: NewIdentity): Promise<boolean> {
    const id = idToBytes('user', user.id)!;
    const person: Row | undefined = await tx('person')
      .where({ id, email: user.email, email_verified: 1, is_disabled: 0 })
      .forUpdate()
      .first('id');
    if (person === undefined) return false;
    const other: Row | undefined = await tx('person_identity').where({ user_id: id, issuer: identity.claims.issuer }).first('id');
    if (other !== undefined) return false;
    await insertIdentity(tx, id, identity);
    return true;
  }

  async remove(tx: Knex.Transaction, userId: Buffer, id: Buffer): Promise<boolean> {
    return (await tx('person_identity').where({ user_id: userId, id }).delete()) > 0;
  }

  /** Ends all connections of a person. */
  async removeAll(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('person_identity').where({ user_id: userId }).delete();
  }

  /**
   * Adds a user with an account that they own and the identity with which they signed up, if any. Raises a duplicate of the database when
   * another user has the address or the identity.
   */
  async addWithAccount(tx: Knex.Transaction, person: Person, account: Account, identity: NewIdentity | undefined): Promise<void> {
    const userId = idToBytes('user', person.user.id)!;
    await insertPerson(tx, person);
    if (identity !== undefined) await insertIdentity(tx, userId, identity);
    await insertAccount(tx, account, await nextChangeNumber(tx));
    await tx('member').insert({
      account_id: idToBytes('acct', account.id),
      user_id: userId,
      role: Role.ROLE_OWNER,
      since_ms: account.createdAtMs,
    });
  }
}

/** What names an identity for ever; the two parts cannot run into each other. */
function identityHash({ issuer, subject }: Pick<IdentityClaims, 'issuer' | 'subject'>): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest();
}

async function insertIdentity(knex: Knex, userId: Buffer, { id, claims, createdAtMs }: NewIdentity): Promise<void> {
  await knex('person_identity').insert({
    id: idToBytes('idn', id),
    identity_hash: identityHash(claims),
    user_id: userId,
    issuer: claims.issuer,
    subject: claims.subject,
    email: claims.email,
    created_at_ms: createdAtMs,
  });
}

/** Runs the transaction; false when it was refused because another user has the address or the identity. */
export async function unlessDuplicate(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
