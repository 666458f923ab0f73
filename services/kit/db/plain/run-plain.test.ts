import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../open.js';
import type { PlainTransaction } from './plain-transaction.js';

describe('a commit on a SQLite file', () => {
  let folder: string;
  let db: Database;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-commit-'));
    db = openDatabase(`sqlite:${join(folder, 'some.db')}`);
  });

  afterAll(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });

  it('leaves the sync of knex’s statements to SQLite', async () => {
    const full = [{ synchronous: 2n }];
    const level = (tx: PlainTransaction) => tx.query('PRAGMA synchronous', []);
    const failing = (tx: PlainTransaction) => tx.run('CREATE TABLE', []);
    for (const options of [{}, { mayBeLost: true }]) {
      // Plain transactions are synced after their commit, or not at all.
      expect(await db.plainTransaction(level, options)).toEqual([{ synchronous: 1n }]);
      expect(await db.knex.raw('PRAGMA synchronous')).toEqual(full);
      await expect(db.plainTransaction(failing, options)).rejects.toThrow('incomplete input');
      expect(await db.knex.raw('PRAGMA synchronous')).toEqual(full);
    }
  });
});
