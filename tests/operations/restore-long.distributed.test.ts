// A restore to a point in time, into a server of the operator's own.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { silentLog } from '#kit/testing/log.js';
import { type Mariadb, startMariadb } from '../../deploy/distributed/mariadb/mariadb.js';
import { chat, settled } from '../support/clients/calls.js';
import { runCommand } from '../support/clients/command-runner.js';
import { startSystem, type System } from '../support/systems/system.js';

let folder: string;
let system: System;
let target: Mariadb;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-restore-'));
  system = await startSystem('distributed', { TOLLGATE_DISTRIBUTED_BINARY_LOGS: 'true' });
  target = await startMariadb({ dataDir: join(folder, 'target'), log: silentLog });
}, 120_000);

afterAll(async () => {
  await system?.stop();
  await target?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('The binary logs bring a backup to a later instant on another server, which must be empty.', async () => {
  const { id: accountId } = await system.json<{ id: string }>('account', 'list');
  await (await chat(system, system.firstKey)).text();
  await settled(system, accountId, 1);
  const backup = join(folder, 'backup');
  await system.cli('backup', backup);
  for (let made = 0; made < 2; made += 1) await (await chat(system, system.firstKey)).text();
  const { balance } = await settled(system, accountId, 3);

  const { hostname, port, username, password } = new URL(system.operatorEnv()['TOLLGATE_BACKUP_DATABASE_URL']!);
  const remote = ['--read-from-remote-server', `--host=${hostname}`, `--port=${port}`, `--user=${username}`];
  const args = ['--no-defaults', ...remote, '--raw', '--to-last-log', 'binlog.000001'];
  execFileSync('mariadb-binlog', args, { cwd: folder, env: { ...process.env, MYSQL_PWD: decodeURIComponent(password) } });
  const logs = readdirSync(folder).filter((name) => name.startsWith('binlog.'));

  const restore = (dataDir: string, ...options: string[]) =>
    runCommand(['restore', backup, '--secret-key', system.dataDir, '--json', ...options], {
      TOLLGATE_DATA_DIR: dataDir,
      TOLLGATE_RESTORE_DATABASE_URL: target.adminUrl,
    });
  const restored = await restore(join(folder, 'one'), '--binary-logs', ...logs.toSorted().map((name) => join(folder, name)));
  expect({ code: restored.code, stderr: restored.stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(restored.stdout)).toMatchObject({ records_checked: 3, drifts: [] });
  expect(BigInt(balance.spent_nano_usd)).toBeGreaterThan(0n);

  const refused = await restore(join(folder, 'two'));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('never overwrites data') });
  expect(existsSync(join(folder, 'two'))).toBe(false);
}, 180_000);
