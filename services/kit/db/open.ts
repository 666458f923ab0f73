// Opens a service's own database from one url, on SQLite or MySQL, so that the two behave alike: bigints whole, strict modes,
// READ COMMITTED, every commit durable.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import createKnex, { type Knex } from 'knex';
import { AppError } from '../errors/app-error.js';
import type { Engine } from './engine.js';
import { isRetryable } from './errors.js';
import type { PlainTransaction } from './plain-transaction.js';
import { type ConnectionPool, runPlain } from './run-plain.js';
import { traceStatements } from './sql-spans.js';

export type { Engine };

/** A service's own database. */
export interface Database {
  readonly engine: Engine;
  /** For reads and for statements that stand alone. On SQLite never use it inside `transaction`: the one connection is taken. */
  readonly knex: Knex;
  /**
   * Runs `work` in one transaction and commits. Deadlocks and lock waits are retried as a whole, so `work` must have no other
   * effects. A SQLite file has one connection in one process, so there transactions simply run one after another.
   */
  transaction<T>(work: (tx: Knex.Transaction) => Promise<T>): Promise<T>;
  /** The same with SQL texts in place of knex, at a tenth of the cost: for what every call does. */
  plainTransaction<T>(work: (tx: PlainTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const attemptsMax = 10;

// With compiled SQL knex writes the bound values into error messages, where secrets have no place, and its escaping throws on a
// bigint (knex 3.3, lib/util/string.js) so that the true error is lost. The statement with its placeholders says enough.
// Knex prints what it also throws, to standard output and not as our log lines.
const nothing = (): void => undefined;
const common = { compileSqlOnError: false, log: { debug: nothing, warn: nothing, error: nothing, deprecate: nothing } } as const;

/**
 * Opens "sqlite:<path>" (":memory:" as path for a passing database) or "mysql://user:password@host:port/schema" (a path to a
 * Unix socket as ?socketPath=…). `poolMax` bounds the MySQL connections. Raises invalid_request for any other url.
 */
export function openDatabase(url: string, options: { poolMax?: number } = {}): Database {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  if (url.startsWith('mysql:')) return openMysql(url, options.poolMax ?? 8);
  throw new AppError('invalid_request', 'A database url begins with "sqlite:" or "mysql:".');
}

function openSqlite(filename: string): Database {
  if (filename !== ':memory:') mkdirSync(dirname(filename), { recursive: true });
  const knex = createKnex({
    ...common,
    client: 'better-sqlite3',
    useNullAsDefault: true,
    connection: { filename, options: { safeIntegers: true } } as Knex.BetterSqlite3ConnectionConfig,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: { pragma(text: string): unknown }, done: (error: Error | null, connection: unknown) => void) {
        connection.pragma('journal_mode = WAL');
        // FULL: a commit that was answered survives a power cut. With batches it costs little over NORMAL.
        connection.pragma('synchronous = FULL');
        connection.pragma('foreign_keys = ON');
        connection.pragma('busy_timeout = 5000');
        done(null, connection);
      },
    },
  });
  return database('sqlite', knex);
}

function openMysql(url: string, poolMax: number): Database {
  const parsed = new URL(url);
  const socketPath = parsed.searchParams.get('socketPath');
  const knex = createKnex({
    ...common,
    client: 'mysql2',
    connection: {
      ...(socketPath === null ? { host: parsed.hostname, port: Number(parsed.port || 3306) } : { socketPath }),
      user: decodeURIComponent(parsed.username),
      password: decodeURIComponent(parsed.password),
      database: decodeURIComponent(parsed.pathname.slice(1)),
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      // Both: with the first alone small values are numbers and large ones strings.
      supportBigNumbers: true,
      bigNumberStrings: true,
      // Strings of several statements lose transactions on Galera and invite injection.
      multipleStatements: false,
      connectTimeout: 5000,
    },
    pool: {
      min: 0,
      max: poolMax,
      afterCreate(
        connection: { query(sql: string, done: (error: Error | null) => void): void },
        done: (error: Error | null, connection: unknown) => void,
      ) {
        const statements = [
          'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
          "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
          'SET SESSION innodb_lock_wait_timeout = 5',
        ];
        const next = (index: number): void => {
          const statement = statements[index];
          if (statement === undefined) return done(null, connection);
          connection.query(statement, (error) => (error ? done(error, connection) : next(index + 1)));
        };
        next(0);
      },
    },
    acquireConnectionTimeout: 5000,
  });
  return database('mysql', knex);
}

function database(engine: Engine, knex: Knex): Database {
  traceStatements(knex, engine);
  return {
    engine,
    knex,
    transaction: (work) => retried(() => knex.transaction(work)),
    plainTransaction: (work) => retried(() => runPlain(engine, knex.client as ConnectionPool, work)),
    close: () => knex.destroy(),
  };
}

async function retried<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt >= attemptsMax || !isRetryable(error)) throw error;
      // Jitter keeps two losers of a deadlock from meeting again.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * attempt));
    }
  }
}
