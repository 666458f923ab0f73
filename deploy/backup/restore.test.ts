import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openDatabase } from '#kit/db/open.js';
import { silentLog as log } from '#kit/testing/log.js';
import { backUpDataFolder } from './backup.js';
import { databaseNames } from './data-folder.js';
import { restore } from './restore.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each([false, true])('records the restore in the audit log, and pauses deliveries unless they are wanted: %s', async (deliver) => {
  const [original, source, dataDir] = ['data', 'backup', 'restored'].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(original);
  for (const name of databaseNames)
    new Sqlite(join(original, `${name}.db`)).exec('CREATE TABLE schema_migration (name TEXT PRIMARY KEY) STRICT').close();
  await backUpDataFolder(source, { dataDir: original });
  const request = { source, dataDir, serverUrl: undefined, secretKeyFiles: [], withoutSecretKey: false, deliver, env: {}, log };
  const { isOpen, manifest } = await restore(request);
  expect(isOpen).toBe(true);
  const auth = openDatabase(`sqlite:${join(dataDir, 'auth.db')}`);
  try {
    const events = await auth.knex('audit_entry').select('action', 'detail');
    expect(events).toEqual([{ action: 'installation.restore', detail: JSON.stringify({ backup_at: manifest.started_at }) }]);
    expect(await auth.knex('installation').select('name')).toEqual(deliver ? [] : [{ name: 'deliveries_paused' }]);
  } finally {
    await auth.close();
  }
});
