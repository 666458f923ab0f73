// Secrets in a table and their keys in a file: through rotation, a missing file and a lost key.
import { linkSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type Database, openDatabase } from '../db/open.js';
import { processInfo } from '../process/process-info.js';
import { recordingLogger } from '../testing/log.js';
import { eventually } from '../testing/waiting.js';
import { SecretBox, sealedWith } from './secret-box.js';
import { createSecretKeys, newSecretKey, readSecretKeys, writeSecretKeys } from './secret-key.js';
import { SecretKeyFile } from './secret-keys.js';
import { SecretKeeper, type SealedSecret } from './secret-keeper.js';

let folder: string;
let file: string;
let db: Database;
let rows: Map<string, string>;
const running: SecretKeeper[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  file = join(folder, 'deep', 'secret-key');
  db = openDatabase('sqlite::memory:');
  rows = new Map();
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const keeper of running.splice(0)) await keeper.stop();
  await db.close();
  rmSync(folder, { recursive: true });
});

const read = async (): Promise<SealedSecret[]> =>
  [...rows].map(([purpose, sealed]) => ({
    sealed,
    purpose,
    async replace(by) {
      if (by === undefined) rows.delete(purpose);
      else rows.set(purpose, by);
    },
  }));

/** Starts a process with what is in the file now. */
async function start(lostKeyId?: string): Promise<{ keys: SecretKeyFile; box: SecretBox }> {
  const keys = new SecretKeyFile(file);
  const keeper = new SecretKeeper({ service: 'inference', db, keys, read, lostKeyId, log: recordingLogger().log });
  await keeper.start();
  running.push(keeper);
  return { keys, box: new SecretBox(keys) };
}

it('gets a key file that only its owner can read, once', async () => {
  const { keys } = await start();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const content = readFileSync(file, 'utf8');
  expect((await start()).keys.ids()).toEqual(keys.ids());
  expect(readFileSync(file, 'utf8')).toBe(content);
  writeFileSync(file, 'short');
  expect(() => new SecretKeyFile(file)).toThrow('does not hold a key');
});

it('keeps the key that another container has just created, whose process has the same id', () => {
  createSecretKeys(file);
  const content = readFileSync(file, 'utf8');
  // The temporary file that the other process has not removed yet.
  const other = `${file}.${process.pid}.part`;
  linkSync(file, other);
  createSecretKeys(file);
  expect(readFileSync(file, 'utf8')).toBe(content);
  expect(readdirSync(dirname(file))).toEqual([basename(file), basename(other)]);
});

it('seals secrets with a new key, opens them with the old one until then, and reports which key has how many', async () => {
  const { box, keys } = await start();
  rows.set('a', box.seal('one', 'a')).set('b', box.seal('two', 'b'));
  const [old] = keys.ids();
  const added = newSecretKey();
  writeSecretKeys(file, [added, ...readSecretKeys(file)!]);

  const rotated = await start();
  expect([...rows.values()].map(sealedWith)).toEqual([added.id, added.id]);
  expect([...rows].map(([purpose, sealed]) => rotated.box.open(sealed, purpose))).toEqual(['one', 'two']);
  expect((await processInfo(db)).secretKeys).toEqual([
    { id: added.id, current: true, sealed: 2n },
    { id: old, current: false, sealed: 0n },
  ]);
  // The process that has not read the file again opens what another one has sealed with the new key.
  expect(box.open(rows.get('a')!, 'a')).toBe('one');
});

it('finds a key that was added to the file, even if the wall clock was set back', async () => {
  writeSecretKeys(file, [newSecretKey()]);
  const keys = new SecretKeyFile(file);
  expect(keys.find('unknown')).toBeUndefined();
  jest.spyOn(Date, 'now').mockReturnValue(0);
  const added = newSecretKey();
  writeSecretKeys(file, [...readSecretKeys(file)!, added]);
  expect(await eventually(() => keys.find(added.id))).toEqual(added.key);
});

it('refuses to start without the key of its secrets, and creates no other', async () => {
  const { box, keys } = await start();
  rows.set('a', box.seal('one', 'a'));
  renameSync(file, `${file}.away`);
  await expect(start()).rejects.toThrow(new RegExp(`1 with the key ${keys.ids()[0]}.*secret-key does not exist.*Restore the file`));
  expect(readSecretKeys(file)).toBeUndefined();
  // A file with another key is no help either.
  writeSecretKeys(file, [newSecretKey()]);
  await expect(start()).rejects.toThrow('has only');
  renameSync(`${file}.away`, file);
  await start();
});

it('discards the secrets of a key that an operator declares lost, and no others', async () => {
  const { box, keys } = await start();
  rows.set('a', box.seal('one', 'a'));
  const lost = keys.ids()[0]!;
  rmSync(file);
  await start(lost);
  expect(rows.size).toBe(0);
  const next = await start(lost);
  rows.set('b', next.box.seal('two', 'b'));
  await start(lost);
  expect(rows.size).toBe(1);
});
