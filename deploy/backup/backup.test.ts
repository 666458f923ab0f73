import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { backUpDataFolder } from './backup.js';
import { databaseNames } from './data-folder.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function newDataDir(): string {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  for (const name of databaseNames)
    new Database(join(dataDir, `${name}.db`)).exec('CREATE TABLE schema_migration (name TEXT) STRICT').close();
  return dataDir;
}

it('replaces what a killed backup with the same process id left', async () => {
  const dataDir = newDataDir();
  const left = join(folder, `backup.part-${process.pid}`);
  mkdirSync(left);
  writeFileSync(join(left, 'books.db'), 'half');
  writeFileSync(join(left, 'other'), '');
  await backUpDataFolder(join(folder, 'backup'), { dataDir });
  expect(readdirSync(folder).sort()).toEqual(['backup', 'data']);
  expect(readdirSync(join(folder, 'backup')).sort()).toEqual(['auth.db', 'books.db', 'catalog.db', 'inference.db', 'manifest.json']);
});

it('replaces an empty folder, and refuses one that has files', async () => {
  const dataDir = newDataDir();
  const target = join(folder, 'backup');
  mkdirSync(target);
  await backUpDataFolder(target, { dataDir });
  expect(readdirSync(target)).toContain('manifest.json');
  await expect(backUpDataFolder(target, { dataDir })).rejects.toThrow('is not empty. Name a new folder');
});

it('fails where no folder can be created', async () => {
  await expect(backUpDataFolder('/proc/none/backup', { dataDir: newDataDir() })).rejects.toThrow('ENOENT');
});

// Where mounts are not permitted, the report shows the test as skipped.
const mayMount = spawnSync('unshare', ['--mount', 'true']).status === 0;

(mayMount ? it : it.skip)('refuses the place where a disk is mounted, and names a folder on it', async () => {
  const dataDir = newDataDir();
  const target = join(folder, 'disk');
  mkdirSync(target);
  expect(spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', target]).status).toBe(0);
  try {
    await expect(backUpDataFolder(target, { dataDir })).rejects.toThrow(`A disk is mounted at ${target}. Name a new folder on it`);
    await backUpDataFolder(join(target, 'first'), { dataDir });
  } finally {
    spawnSync('umount', [target]);
  }
});
