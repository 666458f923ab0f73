import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from './open.js';
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

  it('waits for the disk unless its caller opts out, and so does the next', async () => {
    const [full, normal] = [2n, 1n];
    const level = async (tx: PlainTransaction): Promise<unknown> => (await tx.query('PRAGMA synchronous', []))[0]!['synchronous'];
    expect(await db.plainTransaction(level)).toBe(full);
    expect(await db.plainTransaction(level, { mayBeLost: true })).toBe(normal);
    expect(await db.plainTransaction(level)).toBe(full);
    const failing = db.plainTransaction(
      async (tx) => {
        await tx.run('CREATE TABLE gone (id INTEGER)', []);
        throw new Error('no');
      },
      { mayBeLost: true },
    );
    await expect(failing).rejects.toThrow('no');
    expect(await db.plainTransaction(level)).toBe(full);
    // Knex's statements use the same connection.
    expect(await db.knex.raw('PRAGMA synchronous')).toEqual([{ synchronous: full }]);
  });
});
