import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '#kit/db/open.js';
import { recordingLogger } from '#kit/testing/log.js';
import { ensureCertificate } from '#kit/tls/certificate-files.js';
import { schemas } from '../../deploy/distributed/mariadb/credentials.js';
import { type Mariadb, startMariadb } from '../../deploy/distributed/mariadb/mariadb.js';
import { eventually, isAlive } from '../support/systems/process.js';

jest.setTimeout(60_000);
let dataDir: string;
const running: Mariadb[] = [];
const { log, lines } = recordingLogger();

async function start(port = 0, extraOptions: readonly string[] = []): Promise<Mariadb> {
  const server = await startMariadb({ dataDir, port, extraOptions, log });
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

describe('a private MariaDB', () => {
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate with spaces-'));
  });

  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
    rmSync(dataDir, { recursive: true });
  });

  it('serves one schema per service on loopback, keeps committed data across a clean stop, and leaves nothing running', async () => {
    const first = await start();
    // The pid of a line is that of the process that wrote it.
    expect(lines.at(-1)).toMatchObject({ msg: 'MariaDB started', pid: process.pid, server_pid: first.pid });
    for (const schema of schemas) await query(first.migrationUrl(schema), 'CREATE TABLE t (a VARCHAR(10) PRIMARY KEY)');
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

  it('gives each user the least rights: a service the rows of its schema, migrations that schema, backups what they read', async () => {
    const server = await start();
    await query(server.migrationUrl('tollgate_auth'), 'CREATE TABLE t (a INT PRIMARY KEY)');
    await query(server.url('tollgate_auth'), 'INSERT INTO t (a) VALUES (1)');
    await expect(query(server.url('tollgate_auth'), 'ALTER TABLE t ADD COLUMN b INT')).rejects.toThrow(/denied/);
    await expect(query(server.url('tollgate_auth'), 'DROP TABLE t')).rejects.toThrow(/denied/);
    for (const url of [server.url('tollgate_ledger'), server.migrationUrl('tollgate_ledger')])
      await expect(query(url, 'SELECT a FROM tollgate_auth.t')).rejects.toThrow(/denied/);
    expect(await query(`${server.backupUrl}tollgate_auth`, 'SELECT a FROM t')).toEqual([{ a: 1 }]);
    await expect(query(`${server.backupUrl}tollgate_auth`, 'DELETE FROM t')).rejects.toThrow(/denied/);
    await query(server.adminUrl, 'CREATE DATABASE t_other');
    await query(`${server.adminUrl}t_other`, 'CREATE TABLE t (a INT PRIMARY KEY)');
  });

  it('is trusted over TLS only with a certificate of the right authority and for the right host', async () => {
    const folder = join(dataDir, 'tls');
    const { ca, cert, key } = await ensureCertificate(folder, 'database', { isClient: false, hosts: ['localhost'] });
    const { ca: otherCa } = await ensureCertificate(join(dataDir, 'other'), 'database', { isClient: false, hosts: ['localhost'] });
    const server = await start(0, [`--ssl-cert=${cert}`, `--ssl-key=${key}`, '--require-secure-transport=ON']);
    const byAddress = server.url('tollgate_ledger');
    const byName = byAddress.replace('127.0.0.1', 'localhost');
    const cipher = (url: string) => query(url, "SHOW STATUS LIKE 'Ssl_cipher'");
    for (const url of [`${byName}?ssl-ca=${ca}`, `${byAddress}?ssl-mode=VERIFY_CA&ssl-ca=${ca}`])
      expect(await cipher(url)).toEqual([{ Variable_name: 'Ssl_cipher', Value: expect.stringMatching(/^TLS_/) }]);
    await expect(cipher(`${byName}?ssl-ca=${otherCa}`)).rejects.toThrow(/certificate/);
    await expect(cipher(`${byName}?ssl-mode=VERIFY_IDENTITY`)).rejects.toThrow(/certificate/);
    // The certificate is for another host.
    const { cert: otherCert, key: otherKey } = await ensureCertificate(folder, 'other', { isClient: false, hosts: ['db.example.com'] });
    copyFileSync(otherKey, key);
    copyFileSync(otherCert, cert);
    await query(`${server.adminUrl.replace('127.0.0.1', 'localhost')}mysql?ssl-ca=${ca}`, 'FLUSH SSL');
    await expect(cipher(`${byName}?ssl-ca=${ca}`)).rejects.toThrow(/does not match|altnames/i);
    await expect(cipher(byName)).rejects.toThrow(/denied|secure/);
  });

  it('keeps what was committed before a SIGKILL', async () => {
    const first = await start();
    await query(first.migrationUrl('tollgate_ledger'), 'CREATE TABLE t (a INT PRIMARY KEY)');
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

  it('leaves no passwords outside of its folder when the process that starts it is killed meanwhile', async () => {
    const temporary = join(dataDir, 'temporary');
    mkdirSync(temporary);
    dataDir = join(dataDir, 'server');
    const caller = spawn(process.execPath, ['--input-type=module', '-e', callerScript, dataDir], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    const ended = new Promise((done) => caller.once('exit', done));
    await eventually(() => readdirSync(temporary)[0]);
    caller.kill('SIGKILL');
    await ended;
    expect(readdirSync(temporary, { recursive: true }).filter((name) => String(name).endsWith('.sql'))).toEqual([]);
    // Waits for the killed one.
    await (await start()).stop();
    dataDir = join(dataDir, '..');
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
