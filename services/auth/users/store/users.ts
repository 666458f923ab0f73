// The SQL of users.
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { User } from '#proto/auth/v1/users.js';
import type { Row } from '../../store/rows.js';

/** Holds a user with their private data. */
export interface StoredUser {
  readonly user: User;
  /** The result of hashPassword; undefined if the user has no password. */
  readonly password: string | undefined;
}

const columns = [
  'id',
  'email',
  'name',
  'password',
  'is_operator',
  'is_disabled',
  'created_at_ms',
  'email_verified',
  'has_second_factor',
] as const;

/** The fields of a user that can be changed. */
export type UserChange = Partial<Pick<User, 'name' | 'email' | 'emailVerified' | 'isOperator' | 'isDisabled'>> & { password?: string };

/** Returns the error for an address that another user has. */
export function emailTaken(): AppError {
  return fault('email_taken', {}, { details: { field: 'email' } });
}

/** Inserts a user, in a transaction or without one. Raises the database's duplicate error for an address that another user has. */
export async function insertUser(knex: Knex, { user, password }: StoredUser): Promise<void> {
  await knex('person').insert({
    id: idToBytes('user', user.id),
    email: user.email,
    name: user.name,
    password: password ?? null,
    is_operator: Number(user.isOperator),
    is_disabled: Number(user.isDisabled),
    created_at_ms: user.createdAtMs,
    email_verified: Number(user.emailVerified),
    has_second_factor: Number(user.hasSecondFactor),
  });
}

/** The columns of a user, prefixed with their table, for joins. */
export const userColumns: readonly string[] = columns.map((column) => `person.${column} as person_${column}`);

/** Returns the user in a row of a join that selected `userColumns`. */
export function userOfJoin(row: Row): StoredUser {
  return toStoredUser(Object.fromEntries(columns.map((column) => [column, row[`person_${column}`]])));
}

/** Stores users. */
export class UserStore {
  constructor(private readonly db: Database) {}

  /** Adds a user. Raises already_exists for an address that another user has. */
  async add(tx: Knex.Transaction, stored: StoredUser): Promise<void> {
    try {
      await insertUser(tx, stored);
    } catch (error) {
      if (isDuplicate(error)) throw emailTaken();
      throw error;
    }
  }

  async find(id: Buffer, knex: Knex = this.db.knex): Promise<StoredUser | undefined> {
    return toStoredUserIf(
      await knex('person')
        .where({ id })
        .first(...columns),
    );
  }

  /** Returns the user with this address, which must be in lower case. */
  async findByEmail(email: string, knex: Knex = this.db.knex): Promise<StoredUser | undefined> {
    return toStoredUserIf(
      await knex('person')
        .where({ email })
        .first(...columns),
    );
  }

  /** Returns up to `limit` users in order of creation, beginning after the id `after`, whose name or address contains `search` or whose id it is. */
  async list(search: string, after: Buffer | undefined, limit: number): Promise<User[]> {
    const query = this.db
      .knex('person')
      .orderBy('id')
      .limit(limit)
      .select(...columns);
    if (after !== undefined) query.where('id', '>', after);
    const id = idToBytes('user', search);
    if (id !== undefined) query.where({ id });
    // Names are compared without case only for the letters that the engine's LOWER knows; in SQLite those are ASCII letters.
    else if (search !== '')
      query.whereRaw('(INSTR(email, ?) > 0 OR INSTR(LOWER(name), ?) > 0 OR INSTR(name, ?) > 0)', [
        search.toLowerCase(),
        search.toLowerCase(),
        search,
      ]);
    const rows: Row[] = await query;
    return rows.map((row) => toStoredUser(row).user);
  }

  /** Returns a user whom no other transaction can change, nor their sessions, factors and identities, until this one ends. */
  async lock(tx: Knex.Transaction, id: Buffer): Promise<StoredUser | undefined> {
    return toStoredUserIf(
      await tx('person')
        .where({ id })
        .forUpdate()
        .first(...columns),
    );
  }

  /** Sets these columns; returns the user before and after, or undefined when there is none. Raises already_exists for an address that another user has. */
  async update(tx: Knex.Transaction, id: Buffer, change: UserChange): Promise<{ before: User; after: User } | undefined> {
    const before = await this.lock(tx, id);
    if (before === undefined) return undefined;
    await setColumns(tx, id, change);
    const after = await this.find(id, tx);
    return { before: before.user, after: after!.user };
  }

  /** Reports whether an operator who can sign in remains after this change. Locks the operators until the transaction ends. */
  async keepsAnOperator(tx: Knex.Transaction, id: Buffer, change: UserChange): Promise<boolean> {
    // Locked in the order of their ids, so that of two operators who demote each other at once only one succeeds.
    const operators: Row[] = await tx('person').where({ is_operator: 1, is_disabled: 0 }).orderBy('id').forUpdate().select('id');
    const isOne = operators.some((row) => asBytes(row['id']).equals(id));
    const staysOne = change.isOperator !== false && change.isDisabled !== true;
    return !isOne || staysOne || operators.length > 1;
  }
}

async function setColumns(knex: Knex, id: Buffer, change: UserChange): Promise<void> {
  const set = {
    ...(change.name === undefined ? {} : { name: change.name }),
    ...(change.email === undefined ? {} : { email: change.email }),
    ...(change.emailVerified === undefined ? {} : { email_verified: Number(change.emailVerified) }),
    ...(change.isOperator === undefined ? {} : { is_operator: Number(change.isOperator) }),
    ...(change.isDisabled === undefined ? {} : { is_disabled: Number(change.isDisabled) }),
    ...(change.password === undefined ? {} : { password: change.password }),
  };
  try {
    if (Object.keys(set).length > 0) await knex('person').where({ id }).update(set);
  } catch (error) {
    if (isDuplicate(error)) throw emailTaken();
    throw error;
  }
}

function toStoredUserIf(row: Row | undefined): StoredUser | undefined {
  return row === undefined ? undefined : toStoredUser(row);
}

function toStoredUser(row: Row): StoredUser {
  const password = optional(row['password'], asText);
  return {
    password,
    user: {
      id: idFromBytes('user', asBytes(row['id'])),
      email: asText(row['email']),
      name: asText(row['name']),
      isOperator: asNumber(row['is_operator']) === 1,
      isDisabled: asNumber(row['is_disabled']) === 1,
      hasPassword: password !== undefined,
      createdAtMs: asBigInt(row['created_at_ms']),
      emailVerified: asNumber(row['email_verified']) === 1,
      hasSecondFactor: asNumber(row['has_second_factor']) === 1,
    },
  };
}
