// Polled queries return what has been written, however and whenever it was, and an idle process does not run them.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase, testEngines } from '../testing/database.js';

describe.each(testEngines)('polled queries on %s', (engine) => {
  let test: TestDatabase;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    await test.db.knex.raw('CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, due_at_ms BIGINT NOT NULL)');
  });

  afterEach(() => test.drop());

  const all = async (): Promise<number[]> => (await test.db.query('SELECT id FROM thing ORDER BY id', [])).map((row) => Number(row['id']));
  const due = async (nowMs: number): Promise<number[]> => {
    const options = { nowMs, first: 'SELECT MIN(due_at_ms) AS first FROM thing' };
    const rows = await test.db.queryDue('SELECT id FROM thing WHERE due_at_ms <= ? ORDER BY id', [nowMs], options);
    return rows.map((row) => Number(row['id']));
  };

  it('see what knex, its transactions and plain transactions have written', async () => {
    const { db } = test;
    expect(await all()).toEqual([]);
    await db.knex('thing').insert({ id: 1, due_at_ms: 1 });
    expect(await all()).toEqual([1]);
    await db.transaction((tx) => tx('thing').insert({ id: 2, due_at_ms: 1 }));
    expect(await all()).toEqual([1, 2]);
    await db.plainTransaction((tx) => tx.run('INSERT INTO thing VALUES (3, 1)', []));
    expect(await all()).toEqual([1, 2, 3]);
    await db.plainTransaction((tx) => tx.run('INSERT INTO thing VALUES (4, 1)', []), { mayBeLost: true });
    expect(await all()).toEqual([1, 2, 3, 4]);
    const writing = db.plainTransaction((tx) => tx.run('INSERT INTO thing VALUES (5, 1)', []));
    await all();
    await writing;
    expect(await all()).toEqual([1, 2, 3, 4, 5]);
  });

  it('return what is due at the time, and nothing before', async () => {
    expect(await due(10)).toEqual([]);
    await test.db.knex('thing').insert([
      { id: 1, due_at_ms: 20 },
      { id: 2, due_at_ms: 30 },
    ]);
    expect([await due(19), await due(20), await due(29), await due(30)]).toEqual([[], [1], [1], [1, 2]]);
    await test.db.knex('thing').where({ id: 1 }).delete();
    expect([await due(29), await due(30)]).toEqual([[], [2]]);
  });

  it('return different rows for different values, and fail again where they failed', async () => {
    await test.db.knex('thing').insert({ id: 1, due_at_ms: 20 });
    const byId = async (id: number): Promise<number> => (await test.db.query('SELECT id FROM thing WHERE id = ?', [id])).length;
    expect([await byId(1), await byId(2), await byId(1)]).toEqual([1, 0, 1]);
    for (let again = 0; again < 2; again += 1) await expect(test.db.query('SELECT nothing FROM thing', [])).rejects.toThrow('nothing');
  });
});
