// The backups that a restore refuses before it writes anything.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecretKey, writeSecretKeys } from '#kit/secrets/secret-key.js';
import { recordingLogger } from '#kit/testing/log.js';
import { isNewer, type Manifest, manifestName, writeManifest } from './manifest.js';
import { restore, type RestoreRequest } from './restore.js';
import { refuseUnfinished, unfinishedName } from './unfinished.js';

let folder: string;
let source: string;
const key = newSecretKey();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  source = join(folder, 'backup');
  mkdirSync(source);
  writeFileSync(join(source, 'auth.db'), 'the data');
  await make({});
});
afterEach(() => rmSync(folder, { recursive: true }));

const make = (fields: Partial<Manifest>) =>
  writeManifest(source, ['auth.db'], {
    tollgate_version: '0.1.0',
    mode: 'single',
    engine: 'sqlite',
    started_at: '2026-11-23T00:00:00.000Z',
    migrations: {},
    secret_keys: [{ id: key.id, used_by: ['auth', 'inference'] }],
    binary_logs: [],
    ...fields,
  });

const restoring = (fields: Partial<RestoreRequest> = {}): Promise<unknown> =>
  restore({
    source,
    dataDir: join(folder, 'data'),
    serverUrl: undefined,
    secretKeyFiles: [],
    withoutSecretKey: false,
    deliver: false,
    env: {},
    log: recordingLogger().log,
    ...fields,
  });

describe('a restore is refused', () => {
  it('into a folder that has data', async () => {
    await expect(restoring({ dataDir: source })).rejects.toThrow('never overwrites data');
  });

  it('of a folder that is no complete backup', async () => {
    rmSync(join(source, manifestName));
    await expect(restoring()).rejects.toThrow('not a complete backup');
  });

  it('whose manifest names no known mode', async () => {
    const manifest = JSON.parse(readFileSync(join(source, manifestName), 'utf8')) as object;
    for (const change of [{ mode: undefined }, { mode: 'distributed' }, { format: 'another' }]) {
      writeFileSync(join(source, manifestName), JSON.stringify({ ...manifest, ...change }));
      await expect(restoring()).rejects.toThrow('is not the manifest of a backup');
    }
  });

  it('when a file is cut off, changed or missing, and names it', async () => {
    truncateSync(join(source, 'auth.db'), 3);
    await expect(restoring()).rejects.toThrow('auth.db has 3 bytes instead of 8');
    writeFileSync(join(source, 'auth.db'), 'the date');
    await expect(restoring()).rejects.toThrow('auth.db has another SHA-256');
    rmSync(join(source, 'auth.db'));
    await expect(restoring()).rejects.toThrow('auth.db is missing');
  });

  it('when a newer version made the backup', async () => {
    await make({ tollgate_version: '99.0.0' });
    await expect(restoring()).rejects.toThrow('newer than this one');
  });

  it('without the secret key, and names it', async () => {
    await expect(restoring()).rejects.toThrow(`${key.id} (of auth, inference)`);
    const other = join(folder, 'other-secret-key');
    writeSecretKeys(other, [newSecretKey()]);
    await expect(restoring({ secretKeyFiles: [other] })).rejects.toThrow(key.id);
    await expect(restoring({ secretKeyFiles: [join(folder, 'nowhere')] })).rejects.toThrow('does not exist');
  });

  it.each([
    ['the first is missing', ['binlog.000010'], undefined, 'it has binlog.000010 where binlog.000009 is expected'],
    ['one in between is missing', ['binlog.000009', 'binlog.000011'], undefined, 'it has binlog.000011 where binlog.000010 is expected'],
    ['a file does not exist', ['binlog.000009', 'binlog.000010'], undefined, 'binlog.000010 does not exist'],
    ['they end before the backup', ['binlog.000009'], '2026-11-22 23:59:59', '--until must not be before 2026-11-23T00:00:00.000Z'],
  ])('with binary logs if %s', async (_, names, until, why) => {
    await make({ mode: 'distributed', engine: 'mysql', binary_logs: [{ file: 'binlog.000009', position: 4 }] });
    writeFileSync(join(folder, 'binlog.000009'), '');
    await expect(restoring({ binaryLogs: { files: names.map((name) => join(folder, name)), until } })).rejects.toThrow(why);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('with binary logs of a backup that names none', async () => {
    await expect(restoring({ binaryLogs: { files: ['binlog.000009'], until: undefined } })).rejects.toThrow(
      'only to a backup of one server',
    );
  });
});

it('keeps a folder closed whose restore failed halfway', async () => {
  const keyFile = join(folder, 'secret-key');
  writeSecretKeys(keyFile, [key]);
  const dataDir = join(folder, 'data');
  await expect(restoring({ secretKeyFiles: [keyFile] })).rejects.toThrow();
  expect(() => refuseUnfinished(dataDir)).toThrow('Delete the folder and restore again');
  await expect(restoring({ secretKeyFiles: [keyFile] })).rejects.toThrow('never overwrites data');
  rmSync(join(dataDir, unfinishedName));
  refuseUnfinished(dataDir);
});

it('makes the restored files writable for their owner and unreadable for all others, whatever the modes in the backup', async () => {
  chmodSync(join(source, 'auth.db'), 0o444);
  await expect(restoring({ withoutSecretKey: true })).rejects.toThrow();
  expect(statSync(join(folder, 'data', 'auth.db')).mode & 0o777).toBe(0o600);
});

it.each([
  ['0.10.0', '0.9.1'],
  ['1.2.0', '1.2.0-rc.1'],
  ['1.2.0-rc.10', '1.2.0-rc.9'],
  ['1.2.1-rc.1', '1.2.0'],
  ['0.2.0+28d783be1f', '0.1.0+8990c78e52'],
])('compares versions by their numbers: %s is newer than %s', (newer, older) => {
  expect([isNewer(newer, older), isNewer(older, newer), isNewer(older, older), isNewer(newer, newer)]).toEqual([true, false, false, false]);
});

it('ignores build metadata when it compares versions', () => {
  for (const [one, other] of [
    ['0.1.0+8990c78e52', '0.1.0+28d783be1f'],
    ['0.1.0+8990c78e52', '0.1.0'],
    ['0.1.0-rc.1+8990c78e52', '0.1.0-rc.1+28d783be1f'],
  ] as const)
    expect([isNewer(one, other), isNewer(other, one)]).toEqual([false, false]);
});
