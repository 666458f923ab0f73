// Backups of databases on a server with MariaDB's own programs, and what can go wrong with them.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { openDatabase } from '#kit/db/open.js';
import { silentLog as log } from '#kit/testing/log.js';
import { backUpServers, schemasOn, serviceNames } from '../../deploy/backup/index.js';
import { applyBinaryLogs } from '../../deploy/backup/mariadb-tools.js';
import { replayBinaryLogs } from '../../deploy/backup/server-schemas.js';
import { adminUser, loadCredentials, schemas } from '../../deploy/distributed/mariadb/credentials.js';
import { binaryLogOptions, type Mariadb, startMariadb } from '../../deploy/distributed/mariadb/mariadb.js';
import { runCommand } from '../support/clients/command-runner.js';

const { PATH: path, HOME: home } = process.env;
let folder: string;
let source: Mariadb;
let target: Mariadb;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-backup-'));
  source = await startMariadb({ dataDir: join(folder, 'source'), extraOptions: binaryLogOptions, log });
  target = await startMariadb({ dataDir: join(folder, 'target'), log });
  for (const schema of schemas)
    for (const statement of [
      'CREATE TABLE schema_migration (name VARCHAR(100) PRIMARY KEY)',
      "INSERT INTO schema_migration VALUES ('0001'), ('0001 1')",
    ])
      await query(`${source.adminUrl}${schema}`, statement);
}, 120_000);

afterAll(async () => {
  await source?.stop();
  await target?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function query(url: string, sql: string): Promise<unknown> {
  const db = openDatabase(url, { poolMax: 1 });
  try {
    return ((await db.knex.raw(sql)) as unknown[])[0];
  } finally {
    await db.close();
  }
}

it('A backup fails when a schema is migrated while it is copied, because it could not be restored.', async () => {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  const real = execFileSync('which', ['mariadb-dump'], { encoding: 'utf8' }).trim();
  const password = loadCredentials(join(folder, 'source', 'credentials.json'))[adminUser]!;
  const client = `mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --port=${source.port} --user=${adminUser}`;
  writeFileSync(
    join(programs, 'mariadb-dump'),
    `#!/bin/sh\n"${real}" "$@" || exit\necho "INSERT INTO schema_migration VALUES ('0002')" | MYSQL_PWD=${password} ${client} tollgate_ledger\n`,
    { mode: 0o700 },
  );
  const backUp = (name: string) => backUpServers(join(folder, name), schemasOn(source.adminUrl), {});
  process.env['PATH'] = [programs, path].join(delimiter);
  try {
    await expect(backUp('first')).rejects.toThrow('A schema was changed while it was copied');
  } finally {
    process.env['PATH'] = path;
  }
  expect(existsSync(join(folder, 'first'))).toBe(false);
  expect((await backUp('second')).migrations).toMatchObject({ auth: ['0001'], ledger: ['0001', '0002'] });
});

it('Binary logs are applied whatever the options of MariaDB clients on this machine are.', async () => {
  process.env['HOME'] = folder;
  // Read by all programs in a group that mariadb-binlog shares, but it does not have this option.
  writeFileSync(join(folder, '.my.cnf'), '[client]\ndefault-character-set=utf8mb4\n');
  try {
    const binaryLog = join(folder, 'source', 'data', 'binlog.000001');
    await applyBinaryLogs(target.adminUrl, 'tollgate_auth', [binaryLog], { from: 4, to: statSync(binaryLog).size, until: undefined });
  } finally {
    process.env['HOME'] = home ?? homedir();
  }
  expect(await query(`${target.adminUrl}tollgate_auth`, 'SELECT name FROM schema_migration')).toEqual([
    { name: '0001' },
    { name: '0001 1' },
  ]);
});

it('Binary logs that are still copied from the server are applied up to the same point for all services.', async () => {
  const [copy, whole] = [join(folder, 'binlog.000001'), join(folder, 'source', 'data', 'binlog.000001')];
  copyFileSync(whole, copy);
  const position = { file: 'binlog.000001', position: statSync(copy).size };
  const add = async (name: string) => {
    for (const schema of ['tollgate_metering', 'tollgate_auth'])
      await query(source.url(schema), `INSERT INTO schema_migration VALUES ('${name}')`);
  };
  await add('0003');
  copyFileSync(whole, copy);
  await add('0004');
  for (const schema of ['tollgate_metering', 'tollgate_auth'])
    await query(`${target.adminUrl}${schema}`, 'CREATE TABLE IF NOT EXISTS schema_migration (name VARCHAR(100) PRIMARY KEY)');
  // The rest arrives when the logs have been applied to one schema.
  const programs = join(folder, 'slow');
  mkdirSync(programs);
  const real = execFileSync('which', ['mariadb-binlog'], { encoding: 'utf8' }).trim();
  writeFileSync(join(programs, 'mariadb-binlog'), `#!/bin/sh\n"${real}" "$@" || exit\ncat "${whole}" > "${copy}"\n`, { mode: 0o700 });
  process.env['PATH'] = [programs, path].join(delimiter);
  try {
    await replayBinaryLogs(schemasOn(target.adminUrl), [copy], position, undefined);
  } finally {
    process.env['PATH'] = path;
  }
  const added = async (schema: string) => query(`${target.adminUrl}${schema}`, "SELECT name FROM schema_migration WHERE name > '0002'");
  expect([await added('tollgate_metering'), await added('tollgate_auth')]).toEqual([[{ name: '0003' }], [{ name: '0003' }]]);
});

it('The command says so when the backup names no secret keys, because a service is down.', async () => {
  const addresses = Object.fromEntries(serviceNames.map((name) => [`TOLLGATE_${name.toUpperCase()}_ADDRESS`, '127.0.0.1:1']));
  const { code, stdout, stderr } = await runCommand(['backup', join(folder, 'third'), '--json'], {
    ...addresses,
    TOLLGATE_BACKUP_DATABASE_URL: source.adminUrl,
  });
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ secret_key_ids: [] })]);
  expect(stderr).toContain('does not say which secret keys it needs');
});
