// Brings a service's own schema up to date. Migrations are plain SQL with the few type names that differ between engines.
import type { Knex } from 'knex';
import { type Dialect, dialects } from './dialect.js';
import { holdingLease } from './migration-lease.js';
import type { Database } from './open.js';

/** One step of a schema. Once released it is never changed; code must run both before and after it. */
export interface Migration {
  /** Sorts by its number, for example "0001-keys". */
  readonly name: string;
  /** The statements, each awaited before the next. */
  statements(dialect: Dialect): readonly string[];
}

/** Applies what is missing, in order. Replicas that start together wait for each other. Returns the names applied now. */
export async function migrate(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const dialect = dialects[db.engine];
  const apply = async (knex: Knex): Promise<string[]> => {
    await knex.raw(
      `CREATE TABLE IF NOT EXISTS schema_migration (name ${dialect.text(100)} NOT NULL PRIMARY KEY) ${dialect.tableOptions}`,
    );
    const done = new Set((await knex('schema_migration').select('name')).map((row: { name: string }) => row.name));
    const applied: string[] = [];
    for (const migration of migrations) {
      if (done.has(migration.name)) continue;
      for (const statement of migration.statements(dialect)) await knex.raw(statement);
      await knex('schema_migration').insert({ name: migration.name });
      applied.push(migration.name);
    }
    return applied;
  };
  if (db.engine === 'sqlite') return db.transaction(apply);
  // MySQL commits before each DDL statement, so a named lock on one connection keeps replicas apart instead of a transaction. Nodes of
  // a Galera cluster do not know each other's named locks, so there a lease is taken too.
  return db.knex.transaction(async (connection) => {
    await connection.raw("SELECT GET_LOCK(CONCAT(DATABASE(), '.migrate'), 60)");
    try {
      return await ((await isGalera(connection)) ? holdingLease(db.knex, () => apply(connection)) : apply(connection));
    } finally {
      await connection.raw("SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.migrate'))");
    }
  });
}

async function isGalera(knex: Knex): Promise<boolean> {
  const [rows] = (await knex.raw("SHOW VARIABLES LIKE 'wsrep_on'")) as [{ Value: string }[], unknown];
  return rows[0]?.Value === 'ON';
}
