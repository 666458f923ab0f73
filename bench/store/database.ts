// Creates empty databases for benchmarks, on SQLite and on MariaDB.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import createKnex from 'knex';
import { newId } from '#kit/id.js';

export type Engine = 'sqlite' | 'mysql';

/** The processes whose CPU counts: this one and, with TOLLGATE_BENCH_MYSQL_PID, the server. */
export const measuredPids = [process.pid, ...[process.env['TOLLGATE_BENCH_MYSQL_PID'] ?? []].flat().map(Number)];

/** The address of a database, and a function that removes it; close it first. */
export interface NewDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates an empty database. MySQL needs TOLLGATE_BENCH_MYSQL_URL, a server whose user may create schemas. */
export async function newDatabase(engine: Engine): Promise<NewDatabase> {
  return engine === 'sqlite' ? sqliteFile() : mysqlSchema();
}

function sqliteFile(): NewDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  return { url: `sqlite:${join(folder, 'bench.db')}`, drop: async () => rmSync(folder, { recursive: true, force: true }) };
}

async function mysqlSchema(): Promise<NewDatabase> {
  const address = process.env['TOLLGATE_BENCH_MYSQL_URL'];
  if (address === undefined)
    throw new Error('Set TOLLGATE_BENCH_MYSQL_URL to mysql://user:password@host:port/ of a server whose user may create schemas.');
  const server = new URL(address);
  const schema = newId('bench');
  const admin = createKnex({
    client: 'mysql2',
    connection: { host: server.hostname, port: Number(server.port), user: server.username, password: server.password },
    pool: { min: 0, max: 1 },
  });
  await admin.raw(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  server.pathname = `/${schema}`;
  return {
    url: server.href,
    async drop() {
      await admin.raw(`DROP DATABASE ${schema}`);
      await admin.destroy();
    },
  };
}
