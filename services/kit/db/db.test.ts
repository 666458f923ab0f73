import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase, testEngines } from '../testing/database.js';
import { isCheckViolation, isDuplicate } from './errors.js';
import { migrate, type Migration } from './migrate.js';
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

  it('keeps bigints and bytes whole', async () => {
    const id = Buffer.alloc(16, 7);
    await test.db.knex('thing').insert({ id, amount: 9_007_199_254_740_993n, name: 'é' });
    const row = await test.db.knex('thing').where({ id }).first();
    expect(asBigInt(row.amount)).toBe(9_007_199_254_740_993n);
    expect(asBytes(row.id)).toEqual(id);
  });

  it('applies each migration once', async () => {
    expect(await migrate(test.db, migrations)).toEqual([]);
  });

  it('tells duplicates and broken checks apart', async () => {
    const insert = (byte: number, amount: bigint) => test.db.knex('thing').insert({ id: Buffer.alloc(16, byte), amount, name: 'x' });
    await insert(1, 1n);
    await insert(1, 1n).then(() => expect('inserted').toBe('refused'), (error) => expect(isDuplicate(error)).toBe(true));
    await insert(2, -1n).then(() => expect('inserted').toBe('refused'), (error) => expect(isCheckViolation(error)).toBe(true));
  });

  it('loses no update of concurrent transactions that lock first', async () => {
    const id = Buffer.alloc(16, 9);
    await test.db.knex('thing').insert({ id, amount: 0n, name: 'counter' });
    const add = () =>
      test.db.transaction(async (tx) => {
        const row = await tx('thing').where({ id }).forUpdate().first();
        await tx('thing').where({ id }).update({ amount: asBigInt(row.amount) + 1n });
      });
    await Promise.all(Array.from({ length: 20 }, add));
    expect(asNumber((await test.db.knex('thing').where({ id }).first()).amount)).toBe(20);
  });

  it('rolls back what throws', async () => {
    await expect(
      test.db.transaction(async (tx) => {
        await tx('thing').insert({ id: Buffer.alloc(16, 3), amount: 1n, name: 'gone' });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await test.db.knex('thing').where({ name: 'gone' }).first()).toBeUndefined();
  });
});
