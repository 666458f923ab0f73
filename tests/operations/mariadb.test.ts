import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '#kit/db/open.js';
import { createLogger } from '#kit/log.js';
import { schemas } from '../../deploy/distributed/mariadb/credentials.js';
import { type Mariadb, startMariadb } from '../../deploy/distributed/mariadb/mariadb.js';

const log = createLogger({ name: 'test', level: 'silent' });
jest.setTimeout(60_000);
let dataDir: string;
const running: Mariadb[] = [];

async function start(port = 0): Promise<Mariadb> {
  const server = await startMariadb({ dataDir, port, log });
  running.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<unknown> {
  const db = openDatabase(url, { poolMax: 1 });
  try {
    return ((await db.knex.raw(sql)) as unknown[])[0];
  } finally {
    await db.close();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a private MariaDB', () => {
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  });

  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
    rmSync(dataDir, { recursive: true });
  });

  it('serves one schema per service on loopback, keeps committed data across a clean stop, and leaves nothing running', async () => {
    const first = await start();
    for (const schema of schemas) await query(first.url(schema), 'CREATE TABLE t (a VARCHAR(10) PRIMARY KEY)');
    await query(first.url('tollgate_ledger'), "INSERT INTO t (a) VALUES ('x'), ('X')");
    expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);

    const second = await start(first.port);
    expect(second.port).toBe(first.port);
    // Two rows that differ only in case, because the collation compares bytes.
    expect(await query(second.url('tollgate_ledger'), 'SELECT a FROM t ORDER BY a')).toEqual([{ a: 'X' }, { a: 'x' }]);
    expect(() => second.url('elsewhere')).toThrow('no user elsewhere');
  });

  it('gives a service access to its own schema only, and lets the administrator create others', async () => {
    const server = await start();
    await query(server.url('tollgate_auth'), 'CREATE TABLE t (a INT PRIMARY KEY)');
    await expect(query(server.url('tollgate_ledger'), 'SELECT a FROM tollgate_auth.t')).rejects.toThrow(/denied/);
    await query(server.adminUrl, 'CREATE DATABASE t_other');
    await query(`${server.adminUrl}t_other`, 'CREATE TABLE t (a INT PRIMARY KEY)');
  });

  it('keeps what was committed before a SIGKILL', async () => {
    const first = await start();
    await query(first.url('tollgate_ledger'), 'CREATE TABLE t (a INT PRIMARY KEY)');
    await query(first.url('tollgate_ledger'), 'INSERT INTO t (a) VALUES (1)');
    first.kill('SIGKILL');
    await first.ended;
    expect(await query((await start()).url('tollgate_ledger'), 'SELECT a FROM t')).toEqual([{ a: 1 }]);
  });

  it('reports why it does not start', async () => {
    const server = await start();
    await expect(startMariadb({ dataDir: mkdtempSync(join(dataDir, 'other-')), port: server.port, log })).rejects.toThrow(
      /did not start on .*Address already in use/s,
    );
  });

  it('ends when the process that started it is killed, so that another can start on the same data', async () => {
    const caller = spawn(process.execPath, ['--input-type=module', '-e', callerScript, dataDir], {
      // The killed process cannot clean up its files; they are removed with the data.
      env: { ...process.env, TMPDIR: dataDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const port = Number(await new Promise<Buffer>((done) => caller.stdout.once('data', done)));
    caller.kill('SIGKILL');
    const second = await start(port);
    expect(await query(second.url('tollgate_auth'), 'SELECT 1 AS a')).toEqual([{ a: 1 }]);
  });
});

// A process that starts a server from the TypeScript sources, prints its port and keeps running.
const callerScript = `
  import { registerHooks } from 'node:module';
  registerHooks({ resolve: (name, context, next) => next(context.parentURL.endsWith('.ts') ? name.replace(/^(\\..*)\\.js$/, '$1.ts') : name, context) });
  const { startMariadb } = await import(${JSON.stringify(new URL('../../deploy/distributed/mariadb/mariadb.ts', import.meta.url).href)});
  const server = await startMariadb({ dataDir: process.argv[1], log: { info() {}, error() {} } });
  console.log(server.port);
`;
