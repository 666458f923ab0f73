import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase, testEngines } from '../testing/database.js';
import { isCheckViolation, isDuplicate } from './errors.js';
import { migrate, type Migration } from './migrations/migrate.js';
import type { Row } from './plain/plain-transaction.js';
import { insertText, keyedText, textOfRows, upsertText } from './plain/sql-text.js';
import { Table } from './plain/table.js';
import { asBigInt, asBytes, asNumber } from './values.js';

const migrations: Migration[] = [
  {
    name: '0001-thing',
    statements: (sql) => [
      `CREATE TABLE thing (id ${sql.bytes(16)} NOT NULL PRIMARY KEY, amount ${sql.int64} NOT NULL CHECK (amount >= 0), name ${sql.text(50)} NOT NULL) ${sql.tableOptions}`,
    ],
  },
];

describe.each(testEngines)('a database on %s', (engine) => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
  });

  afterAll(() => test.drop());

  it('stores bigints and bytes exactly', async () => {
    const id = Buffer.alloc(16, 7);
    await test.db.knex('thing').insert({ id, amount: 9_007_199_254_740_993n, name: 'é' });
    const row = await test.db.knex('thing').where({ id }).first();
    expect(asBigInt(row.amount)).toBe(9_007_199_254_740_993n);
    expect(asBytes(row.id)).toEqual(id);
  });

  it('applies each migration once', async () => {
    expect(await migrate(test.db, migrations)).toEqual([]);
  });

  it('distinguishes duplicates from violated checks', async () => {
    const insert = (byte: number, amount: bigint) => test.db.knex('thing').insert({ id: Buffer.alloc(16, byte), amount, name: 'x' });
    await insert(1, 1n);
    await insert(1, 1n).then(
      () => expect('inserted').toBe('refused'),
      (error) => expect(isDuplicate(error)).toBe(true),
    );
    await insert(2, -1n).then(
      () => expect('inserted').toBe('refused'),
      (error) => expect(isCheckViolation(error)).toBe(true),
    );
  });

  if (engine === 'mysql')
    it('sets the session variables that statements rely on, whatever the defaults of the server', async () => {
      const wanted = "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'sql_mode', 'innodb_lock_wait_timeout', 'autocommit')";
      const valuesOf = (rows: readonly Row[]) => Object.fromEntries(rows.map((row) => [row['Variable_name'], row['Value']]));
      const always = {
        tx_isolation: 'READ-COMMITTED',
        sql_mode: 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
        innodb_lock_wait_timeout: '5',
      };
      expect(valuesOf(await test.db.query(wanted, []))).toEqual({ ...always, autocommit: 'ON' });
      expect(valuesOf(await test.db.plainTransaction((tx) => tx.query(wanted, [])))).toEqual({ ...always, autocommit: 'OFF' });
    });

  it('loses no update of concurrent transactions that lock first', async () => {
    const id = Buffer.alloc(16, 9);
    await test.db.knex('thing').insert({ id, amount: 0n, name: 'counter' });
    const add = () =>
      test.db.transaction(async (tx) => {
        const row = await tx('thing').where({ id }).forUpdate().first();
        await tx('thing')
          .where({ id })
          .update({ amount: asBigInt(row.amount) + 1n });
      });
    await Promise.all(Array.from({ length: 20 }, add));
    expect(asNumber((await test.db.knex('thing').where({ id }).first()).amount)).toBe(20);
  });

  it('rolls back when the work throws', async () => {
    await expect(
      test.db.transaction(async (tx) => {
        await tx('thing').insert({ id: Buffer.alloc(16, 3), amount: 1n, name: 'gone' });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await test.db.knex('thing').where({ name: 'gone' }).first()).toBeUndefined();
  });

  describe('in a plain transaction', () => {
    const insert = 'INSERT INTO thing (id, amount, name) VALUES (?, ?, ?)';
    const select = 'SELECT amount, name FROM thing WHERE id = ?';

    it('stores bigints and bytes exactly, and returns how many rows a statement matched', async () => {
      const id = Buffer.alloc(16, 20);
      const rows = await test.db.plainTransaction(async (tx) => {
        expect(await tx.run(insert, [id, 9_007_199_254_740_993n, 'é'])).toBe(1);
        expect(await tx.run('UPDATE thing SET name = ? WHERE id = ?', ['nobody', Buffer.alloc(16, 21)])).toBe(0);
        return tx.query(select, [id]);
      });
      expect(rows.map((row) => [asBigInt(row['amount']), row['name']])).toEqual([[9_007_199_254_740_993n, 'é']]);
    });

    it('rolls back when the work throws, and frees the connection', async () => {
      const id = Buffer.alloc(16, 22);
      const failing = test.db.plainTransaction(async (tx) => {
        await tx.run(insert, [id, 1n, 'gone']);
        await tx.run(insert, [id, 2n, 'twice']);
      });
      await failing.then(
        () => expect('inserted').toBe('refused'),
        (error) => expect(isDuplicate(error)).toBe(true),
      );
      expect(await test.db.plainTransaction((tx) => tx.query(select, [id]))).toEqual([]);
    });

    it('sends nothing after a failed statement, even when the failure is caught', async () => {
      const [first, second] = [Buffer.alloc(16, 30), Buffer.alloc(16, 31)];
      const failing = test.db.plainTransaction(async (tx) => {
        await tx.run(insert, [first, 1n, 'before']);
        await tx.run(insert, [first, 1n, 'twice']).catch(() => undefined);
        await tx.run(insert, [second, 1n, 'after']).catch(() => undefined);
      });
      await failing.then(
        () => expect('committed').toBe('refused'),
        (error) => expect(isDuplicate(error)).toBe(true),
      );
      expect(await test.db.knex('thing').whereIn('id', [first, second])).toEqual([]);
    });

    it('fails when a statement is not awaited', async () => {
      const ids = [Buffer.alloc(16, 32), Buffer.alloc(16, 33)];
      const careless = test.db.plainTransaction((tx) => Promise.all(ids.map((id) => tx.run(insert, [id, 1n, 'careless']))));
      // SQLite returns from each statement before the next can begin.
      if (engine === 'sqlite') await careless;
      else await expect(careless).rejects.toThrow('await each statement');
      await test.db.plainTransaction((tx) => tx.run(insert, [Buffer.alloc(16, 34), 1n, 'works']));
      expect(await test.db.knex('thing').whereIn('id', ids)).toHaveLength(engine === 'sqlite' ? 2 : 0);
    });

    it('reports to its listeners whether it was committed, before it returns', async () => {
      const seen: boolean[] = [];
      await test.db.plainTransaction(async (tx) => tx.onEnd((isCommitted) => seen.push(isCommitted)));
      expect(seen).toEqual([true]);
      const failing = test.db.plainTransaction(async (tx) => {
        tx.onEnd((isCommitted) => seen.push(isCommitted));
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(seen).toEqual([true, false]);
    });

    it('reads and writes rows of a table by their keys', async () => {
      const ids = [40, 41, 42].map((byte) => Buffer.alloc(16, byte));
      const things = new Table('thing', { key: ['id'], fixed: ['name'], changing: ['amount'] });
      const rows = await test.db.plainTransaction(async (tx) => {
        await tx.insert(things, [
          [ids[0], 'a', 1n],
          [ids[1], 'b', 2n],
        ]);
        await tx.overwrite(things, [[ids[1], 'b', 20n]]);
        expect([await tx.find(things, []), await tx.lock(things, [])]).toEqual([[], []]);
        expect(await tx.lock(things, [[ids[0]]])).toHaveLength(1);
        return tx.find(
          things,
          ids.map((id) => [id]),
        );
      });
      expect(rows.map(([id, name, amount]) => [asBytes(id), name, asNumber(amount)])).toEqual([
        [ids[0], 'a', 1],
        [ids[1], 'b', 20],
      ]);
    });

    it('loses no update of concurrent knex and plain transactions', async () => {
      const id = Buffer.alloc(16, 23);
      await test.db.knex('thing').insert({ id, amount: 0n, name: 'counter' });
      const lock = engine === 'sqlite' ? select : `${select} FOR UPDATE`;
      const addPlain = () =>
        test.db.plainTransaction(async (tx) => {
          const [row] = await tx.query(lock, [id]);
          await tx.run('UPDATE thing SET amount = ? WHERE id = ?', [asBigInt(row!['amount']) + 1n, id]);
        });
      const addKnex = () =>
        test.db.transaction(async (tx) => {
          const row = await tx('thing').where({ id }).forUpdate().first();
          await tx('thing')
            .where({ id })
            .update({ amount: asBigInt(row.amount) + 1n });
        });
      await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? addPlain() : addKnex())));
      expect(asNumber((await test.db.knex('thing').where({ id }).first()).amount)).toBe(20);
    });

    it('writes many rows at once, new and existing, and finds them by their keys', async () => {
      const ids = [24, 25, 26].map((byte) => Buffer.alloc(16, byte));
      const upsert = upsertText(engine, 'thing', ['id', 'amount', 'name'], ['id'], ['amount']);
      const found = textOfRows((rows) => `SELECT id, amount, name FROM thing WHERE ${keyedText(['id', 'name'])(rows)} ORDER BY id`);
      const rows = await test.db.plainTransaction(async (tx) => {
        await tx.run(insertText('thing', ['id', 'amount', 'name'])(2), [ids[0], 1n, 'a', ids[1], 2n, 'b']);
        await tx.run(upsert(2), [ids[1], 20n, 'never', ids[2], 30n, 'c']);
        return tx.query(found(3), [ids[0], 'a', ids[1], 'b', ids[2], 'not c']);
      });
      expect(rows.map((row) => [asNumber(row['amount']), row['name']])).toEqual([
        [1, 'a'],
        [20, 'b'],
      ]);
    });
  });
});
