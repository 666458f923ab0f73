import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../open.js';
import { migrate, type Migration } from './migrate.js';

const migration: Migration = {
  name: '0001-thing',
  statements: (sql) => [`CREATE TABLE thing (id ${sql.int64} NOT NULL PRIMARY KEY) ${sql.tableOptions}`],
};

describe('a SQLite file', () => {
  let file: string;
  beforeEach(() => {
    file = join(mkdtempSync(join(tmpdir(), 'tollgate-test-')), 'books.db');
  });
  afterEach(() => rmSync(join(file, '..'), { recursive: true }));

  async function migrated(): Promise<string[]> {
    const db = openDatabase(`sqlite:${file}`);
    try {
      return await migrate(db, [migration]);
    } finally {
      await db.close();
    }
  }

  it('that is damaged is named, with what to do', async () => {
    await migrated();
    const content = readFileSync(file);
    writeFileSync(file, content.fill(0xff, 100));
    await expect(migrated()).rejects.toThrow(
      `${file} is damaged (database disk image is malformed). Move the data folder aside, and restore a backup`,
    );
    writeFileSync(file, 'This is no database. '.repeat(100));
    await expect(migrated()).rejects.toThrow(`${file} is damaged (file is not a database)`);
  });

  it('that cannot be opened is named, with what to do', async () => {
    mkdirSync(file);
    await expect(migrated()).rejects.toThrow(
      `${file} cannot be opened for reading and writing (unable to open database file). Give the user of this process read and write permission`,
    );
  });
});
