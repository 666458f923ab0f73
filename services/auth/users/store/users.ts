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
export interface Person {
  readonly user: User;
  /** The result of hashPassword; undefined if the user has no password. */
  readonly password: string | undefined;
}

const columns = ['id', 'email', 'name', 'password', 'is_operator', 'is_disabled', 'created_at_ms', 'email_verified'] as const;

/** What can be changed of a person. */
export type PersonChange = Partial<Pick<User, 'name' | 'email' | 'emailVerified' | 'isOperator' | 'isDisabled'>> & { password?: string };

/** The refusal of an address that is somebody's. */
export function emailTaken(): AppError {
  return fault('email_taken', {}, { details: { field: 'email' } });
}

/** Inserts a person, in a transaction of the caller's or alone. Raises a duplicate of the database for an address that is somebody's. */
export async function insertPerson(knex: Knex, { user, password }: Person): Promise<void> {
  await knex('person').insert({
    id: idToBytes('user', user.id),
    email: user.email,
    name: user.name,
    password: password ?? null,
    is_operator: Number(user.isOperator),
    is_disabled: Number(user.isDisabled),
    created_at_ms: user.createdAtMs,
    email_verified: Number(user.emailVerified),
  });
}

/** The columns of a person with the name of their table, for joins. */
export const personColumns: readonly string[] = columns.map((column) => `person.${column} as person_${column}`);

/** The person of a row of a join by `personColumns`. */
export function userOfJoin(row: Row): User {
  return toPerson(Object.fromEntries(columns.map((column) => [column, row[`person_${column}`]]))).user;
}

/** Stores users. */
export class PersonStore {
  constructor(private readonly db: Database) {}

  /** Adds a user. Raises already_exists for an address that another user has. */
  async add(tx: Knex.Transaction, person: Person): Promise<void> {
    try {
      await insertPerson(tx, person);
    } catch (error) {
      if (isDuplicate(error)) throw emailTaken();
      throw error;
    }
  }

  async find(id: Buffer): Promise<Person | undefined> {
    return toPersonIf(
      await this.db
        .knex('person')
        .where({ id })
        .first(...columns),
    );
  }

  /** By address, in lower case. */
  async findByEmail(email: string): Promise<Person | undefined> {
    return toPersonIf(
      await this.db
        .knex('person')
        .where({ email })
        .first(...columns),
    );
  }

  /** Up to `limit` people in order of creation, from the one behind `after` on; those who have `search` in their name or address. */
  async list(search: string, after: Buffer | undefined, limit: number): Promise<User[]> {
    const query = this.db
      .knex('person')
      .orderBy('id')
      .limit(limit)
      .select(...columns);
    if (after !== undefined) query.where('id', '>', after);
    const id = idToBytes('user', search);
    if (id !== undefined) query.where({ id });
    // Of names only the letters that the engine knows are compared whatever their case: SQLite knows those of ASCII.
    else if (search !== '')
      query.whereRaw('(INSTR(email, ?) > 0 OR INSTR(LOWER(name), ?) > 0 OR INSTR(name, ?) > 0)', [
        search.toLowerCase(),
        search.toLowerCase(),
        search,
      ]);
    const rows: Row[] = await query;
    return rows.map((row) => toPerson(row).user);
  }

  /** Sets these columns; the user before and after, or undefined when there is none. Raises already_exists for an address that another user has. */
  async update(tx: Knex.Transaction, id: Buffer, change: PersonChange): Promise<{ before: User; after: User } | undefined> {
    const row: Row | undefined = await tx('person')
      .where({ id })
      .forUpdate()
      .first(...columns);
    if (row === undefined) return undefined;
    await setColumns(tx, id, change);
    const changed: Row = await tx('person')
      .where({ id })
      .first(...columns);
    return { before: toPerson(row).user, after: toPerson(changed).user };
  }

  /** Whether an operator who can sign in is left after this change. No other change of operators happens until the transaction ends. */
  async keepsAnOperator(tx: Knex.Transaction, id: Buffer, change: PersonChange): Promise<boolean> {
    // In the order of their ids, so that two operators who demote each other wait and do not both succeed.
    const operators: Row[] = await tx('person').where({ is_operator: 1, is_disabled: 0 }).orderBy('id').forUpdate().select('id');
    const isOne = operators.some((row) => asBytes(row['id']).equals(id));
    const staysOne = change.isOperator !== false && change.isDisabled !== true;
    return !isOne || staysOne || operators.length > 1;
  }
}

async function setColumns(knex: Knex, id: Buffer, change: PersonChange): Promise<void> {
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

function toPersonIf(row: Row | undefined): Person | undefined {
  return row === undefined ? undefined : toPerson(row);
}

function toPerson(row: Row): Person {
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
    },
  };
}
