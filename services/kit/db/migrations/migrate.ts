// Migrates a service's own schema. Migrations are plain SQL, with the few type names that differ between engines filled in.
import type { Knex } from 'knex';
import { type Dialect, dialects } from './dialect.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '../../log.js';
import {
  isAlreadyDone,
  isConnectionLost,
  isDamagedFile,
  isInaccessibleFile,
  isLoginRefused,
  isNotPermitted,
  isTableMissing,
} from '../errors.js';
import { holdingLease } from './migration-lease.js';
import { type Database, openDatabase } from '../open.js';
import { whenReachable } from '../when-reachable.js';
import { probeTable } from '../write-probe.js';

const lockMinutesMax = 240;

/** One step of a schema. Once released it is never changed; code must run both before and after it. */
export interface Migration {
  /** Begins with its number, for example "0001-keys". Differs from the migrations of every service that may share the database. */
  readonly name: string;
  /** Returns the statements; each is awaited before the next. */
  statements(dialect: Dialect): readonly string[];
}

/**
 * Applies pending migrations in order. Replicas that start together wait for each other. Returns the names that it applied. Waits for a
 * server that cannot be reached (when-reachable.ts). Raises failed_precondition when it stays unreachable or refuses the login, when the user of the
 * database may not change the schema, or when a SQLite file is damaged or inaccessible.
 */
export async function migrate(db: Database, migrations: readonly Migration[], log?: Pick<Logger, 'warn'>): Promise<string[]> {
  try {
    return await whenReachable(log, () => migrateOnce(db, migrations));
  } catch (error) {
    if (db.file !== undefined) throw fileFault(db.file, error);
    if (!isConnectionLost(error) && !isLoginRefused(error)) throw error;
    throw new AppError(
      'failed_precondition',
      `The database cannot be used (${(error as Error).message}); check TOLLGATE_<SERVICE>_DATABASE_URL and TOLLGATE_<SERVICE>_MIGRATION_DATABASE_URL.`,
      { cause: error },
    );
  }
}

/** Returns the error to raise for that of a SQLite file, with the fix; any other error is returned unchanged. */
function fileFault(file: string, error: unknown): unknown {
  const why = (error as Error).message;
  if (isDamagedFile(error))
    return new AppError(
      'failed_precondition',
      `${file} is damaged (${why}). Move the data folder aside, and restore a backup into a new one (docs/backup.md).`,
      { cause: error },
    );
  if (isInaccessibleFile(error))
    return new AppError(
      'failed_precondition',
      `${file} cannot be opened for reading and writing (${why}). Give the user of this process read and write permission for the folder and all files in it.`,
      { cause: error },
    );
  return error;
}

async function migrateOnce(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  if (db.engine === 'sqlite') return applyPending(db, migrations);
  // The user of the service may lack the right to change the schema, which only a pending migration needs.
  if (await isCurrent(db, migrations)) return [];
  const migrator = db.migrationUrl === undefined ? db : openDatabase(db.migrationUrl, { poolMax: 2 });
  try {
    return await applyPending(migrator, migrations);
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
    throw new AppError(
      'failed_precondition',
      'The schema must be created or changed, and the user of the database may not do that. Set TOLLGATE_<SERVICE>_MIGRATION_DATABASE_URL to a user that may.',
      { cause: error },
    );
  } finally {
    if (migrator !== db) await migrator.close();
  }
}

/** Reports whether every migration was applied. */
async function isCurrent({ knex }: Database, migrations: readonly Migration[]): Promise<boolean> {
  try {
    const done = new Set((await knex('schema_migration').select('name')).map((row: { name: string }) => row.name));
    return migrations.every(({ name }) => done.has(name));
  } catch (error) {
    if (isTableMissing(error)) return false;
    throw error;
  }
}

async function applyPending(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const dialect = dialects[db.engine];
  const apply = async (knex: Knex): Promise<string[]> => {
    await knex.raw(`CREATE TABLE IF NOT EXISTS schema_migration (name ${dialect.text(100)} NOT NULL PRIMARY KEY) ${dialect.tableOptions}`);
    await knex.raw(probeTable(dialect));
    const done = new Set((await knex('schema_migration').select('name')).map((row: { name: string }) => row.name));
    const applied: string[] = [];
    for (const migration of migrations) {
      if (done.has(migration.name)) continue;
      for (const [index, statement] of migration.statements(dialect).entries()) {
        const step = `${migration.name} ${index + 1}`;
        if (done.has(step)) continue;
        if (db.engine === 'sqlite') await knex.raw(statement);
        else await runStep(knex, step, statement);
      }
      await knex('schema_migration').insert({ name: migration.name });
      applied.push(migration.name);
    }
    return applied;
  };
  if (db.engine === 'sqlite') return db.transaction(apply);
  // MySQL commits before each DDL statement, so a named lock on one connection, not a transaction, keeps replicas apart. Named locks are
  // local to a node of a Galera cluster, so a lease is taken there as well.
  return db.knex.transaction(async (connection) => {
    await lock(connection);
    try {
      return await ((await isGalera(connection)) ? holdingLease(db.knex, () => apply(connection)) : apply(connection));
    } finally {
      await connection.raw("SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.migrate'))");
    }
  });
}

/**
 * Runs a statement of a migration on MySQL, and records it. A statement that changes rows is committed together with its record. One that changes the schema
 * is committed by itself, so a process that dies may leave it done but not recorded; therefore it is no error that it is done already.
 */
async function runStep(knex: Knex, step: string, statement: string): Promise<void> {
  await knex.raw('START TRANSACTION');
  try {
    await knex.raw(statement);
  } catch (error) {
    if (!isAlreadyDone(error)) throw error;
  }
  await knex('schema_migration').insert({ name: step });
  await knex.raw('COMMIT');
}

/** Acquires the named lock. Waits for up to `lockMinutesMax`, because another replica may be migrating a large table; then raises service_unavailable. */
async function lock(connection: Knex): Promise<void> {
  for (let minutes = 0; minutes < lockMinutesMax; minutes += 1) {
    const [rows] = (await connection.raw("SELECT GET_LOCK(CONCAT(DATABASE(), '.migrate'), 60) AS is_mine")) as [
      { is_mine: unknown }[],
      unknown,
    ];
    if (Number(rows[0]?.is_mine) === 1) return;
  }
  throw new AppError('service_unavailable', 'Another process has been bringing the schema up to date for hours, so this one cannot start.');
}

async function isGalera(knex: Knex): Promise<boolean> {
  const [rows] = (await knex.raw("SHOW VARIABLES LIKE 'wsrep_on'")) as [{ Value: string }[], unknown];
  return rows[0]?.Value === 'ON';
}
