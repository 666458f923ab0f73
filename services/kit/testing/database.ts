// New databases for tests: always SQLite, and also MySQL when TOLLGATE_TEST_MYSQL_URL names a server whose user may create schemas.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createKnex from 'knex';
import { type Database, type DatabaseOptions, type Engine, openDatabase } from '../db/open.js';
import { newId } from '../id.js';
import { eventually } from './waiting.js';

/** The engines that this run covers, for `describe.each(testEngines)`. */
export const testEngines: readonly Engine[] = process.env['TOLLGATE_TEST_MYSQL_URL'] === undefined ? ['sqlite'] : ['sqlite', 'mysql'];

/** A test's own database, and a function that drops it. */
export interface TestDatabase {
  readonly db: Database;
  /** The url, to open the same database again, as another replica would. */
  readonly url: string;
  drop(): Promise<void>;
}

/** Returns an empty database on this engine. Call `drop` when done. */
export async function createTestDatabase(engine: Engine, options: DatabaseOptions = {}): Promise<TestDatabase> {
  if (engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
    const url = `sqlite:${join(folder, 'test.db')}`;
    const db = openDatabase(url, options);
    return {
      db,
      url,
      async drop() {
        await db.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }
  const server = new URL(process.env['TOLLGATE_TEST_MYSQL_URL']!);
  const schema = newId('t');
  const admin = createKnex({
    client: 'mysql2',
    connection: { host: server.hostname, port: Number(server.port), user: server.username, password: server.password },
    pool: { min: 0, max: 1 },
  });
  await admin.raw(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  server.pathname = `/${schema}`;
  const db = openDatabase(server.href);
  return {
    db,
    url: server.href,
    async drop() {
      await db.close();
      await admin.raw(`DROP DATABASE ${schema}`);
      await admin.destroy();
    },
  };
}

/** Waits until this many statements with this text wait for locks on a MariaDB database: all others take less than a tenth of a second. */
export async function untilWaiting({ knex }: Pick<Database, 'knex'>, text: string, statements: number): Promise<void> {
  const waiting = 'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE ? AND time_ms >= 100';
  await eventually(async () => ((await knex.raw(waiting, [`%${text}%`]))[0].length === statements ? true : undefined));
}
