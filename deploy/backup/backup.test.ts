import { afterEach, beforeEach, expect, it } from '@jest/globals';
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

it('replaces what a killed backup with the same process id left', async () => {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  for (const name of databaseNames)
    new Database(join(dataDir, `${name}.db`)).exec('CREATE TABLE schema_migration (name TEXT) STRICT').close();
  const left = join(folder, `backup.part-${process.pid}`);
  mkdirSync(left);
  writeFileSync(join(left, 'books.db'), 'half');
  writeFileSync(join(left, 'other'), '');
  await backUpDataFolder(join(folder, 'backup'), { dataDir });
  expect(readdirSync(folder).sort()).toEqual(['backup', 'data']);
  expect(readdirSync(join(folder, 'backup')).sort()).toEqual(['auth.db', 'books.db', 'catalog.db', 'inference.db', 'manifest.json']);
});
