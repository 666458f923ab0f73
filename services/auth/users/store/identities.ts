// The SQL of identities at providers, and of users who sign up with an account of their own.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { Account } from '#proto/auth/v1/auth.js';
import { type Identity, Role, type User } from '#proto/auth/v1/users.js';
import type { IdentityClaims } from '../oidc/identity-claims.js';
import { insertAccount } from '../../store/accounts.js';
import { nextChangeNumber } from '../../store/changes.js';
import type { Row } from '../../store/rows.js';
import { insertUser, type StoredUser, userColumns, userOfJoin } from './users.js';

/** Holds an identity to connect. */
export interface NewIdentity {
  readonly id: string;
  readonly claims: IdentityClaims;
  readonly createdAtMs: bigint;
}

/** Maximum number of identities of one user. */
export const identitiesMax = 20;

const columns = ['id', 'issuer', 'email', 'created_at_ms'] as const;

/** Stores which identities are connected with which users. */
export class IdentityStore {
  constructor(private readonly db: Database) {}

  /** Returns the user who is connected with this identity. */
  async findUser(claims: Pick<IdentityClaims, 'issuer' | 'subject'>): Promise<StoredUser | undefined> {
    const row: Row | undefined = await this.db
      .knex('person_identity')
      .join('person', 'person.id', 'person_identity.user_id')
      .where({ identity_hash: identityHash(claims) })
      .first(...userColumns);
    return row === undefined ? undefined : userOfJoin(row);
  }

  async list(userId: Buffer, knex: Knex = this.db.knex): Promise<Identity[]> {
    const rows: Row[] = await knex('person_identity')
      .where({ user_id: userId })
      .orderBy('id')
      .limit(identitiesMax)
      .select(...columns);
    return rows.map(toIdentity);
  }

  /** Returns this identity if it is connected with the user. */
  async find(tx: Knex.Transaction, userId: Buffer, claims: IdentityClaims): Promise<Identity | undefined> {
    const row: Row | undefined = await tx('person_identity')
      .where({ user_id: userId, identity_hash: identityHash(claims) })
      .first(...columns);
    return row === undefined ? undefined : toIdentity(row);
  }

  /** Connects an identity. Raises the database's duplicate error when it is already connected. */
  async add(tx: Knex.Transaction, userId: Buffer, identity: NewIdentity): Promise<void> {
    await insertIdentity(tx, userId, identity);
  }

  /**
   * Connects an identity with the user who has this verified address. Returns false, and connects nothing, when the user is disabled, no longer
   * has the address, or is connected with another identity of the same provider.
   */
  async addByEmail(tx: Knex.Transaction, user: User, identity: NewIdentity): Promise<boolean> {
    const id = idToBytes('user', user.id)!;
    const row: Row | undefined = await tx('person')
      .where({ id, email: user.email, email_verified: 1, is_disabled: 0 })
      .forUpdate()
      .first('id');
    if (row === undefined) return false;
    const other: Row | undefined = await tx('person_identity').where({ user_id: id, issuer: identity.claims.issuer }).first('id');
    if (other !== undefined) return false;
    await insertIdentity(tx, id, identity);
    return true;
  }

  async remove(tx: Knex.Transaction, userId: Buffer, id: Buffer): Promise<boolean> {
    return (await tx('person_identity').where({ user_id: userId, id }).delete()) > 0;
  }

  /** Disconnects all identities of a user. */
  async removeAll(tx: Knex.Transaction, userId: Buffer): Promise<void> {
    await tx('person_identity').where({ user_id: userId }).delete();
  }

  /** Adds a user with their identity. Raises the database's duplicate error when another user has the address or the identity. */
  async addUser(tx: Knex.Transaction, stored: StoredUser, identity: NewIdentity): Promise<void> {
    await insertUser(tx, stored);
    await insertIdentity(tx, idToBytes('user', stored.user.id)!, identity);
  }

  /**
   * Adds a user with an account that they own and the identity with which they signed up, if any. Raises the database's duplicate error when
   * another user has the address or the identity.
   */
  async addWithAccount(tx: Knex.Transaction, stored: StoredUser, account: Account, identity: NewIdentity | undefined): Promise<void> {
    const userId = idToBytes('user', stored.user.id)!;
    await insertUser(tx, stored);
    if (identity !== undefined) await insertIdentity(tx, userId, identity);
    await insertAccount(tx, account, await nextChangeNumber(tx));
    await tx('member').insert({
      account_id: idToBytes('acct', account.id),
      user_id: userId,
      role: Role.ROLE_OWNER,
      project_roles: '{}',
      since_ms: account.createdAtMs,
    });
  }
}

function toIdentity(row: Row): Identity {
  return {
    id: idFromBytes('idn', asBytes(row['id'])),
    issuer: asText(row['issuer']),
    email: asText(row['email']),
    createdAtMs: asBigInt(row['created_at_ms']),
  };
}

/** Returns the hash that identifies an identity permanently. JSON separates the two parts unambiguously. */
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

/** Runs the transaction; returns false when it failed because another user has the address or the identity. */
export async function unlessDuplicate(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
