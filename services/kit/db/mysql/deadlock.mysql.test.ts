// What happens to a statement, and to a transaction, that InnoDB ends because of a deadlock.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { createTestDatabase, type TestDatabase } from '../../testing/database.js';
import { eventually } from '../../testing/waiting.js';
import { isRetryable } from '../errors.js';
import { asNumber } from '../values.js';

let test: TestDatabase;
beforeEach(async () => {
  test = await createTestDatabase('mysql');
  await test.db.knex.raw('CREATE TABLE thing (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL) ENGINE = InnoDB');
  await test.db.knex('thing').insert([1, 2].map((id) => ({ id, amount: 0 })));
});
afterEach(() => test.drop());

// The later row is locked first.
const addToBoth = (knex: Knex) => knex('thing').whereIn('id', [1, 2]).orderBy('id', 'desc').increment('amount', 10);

/** Locks the first row, waits until `other` has locked the second and waits for the first, and then requests the second. */
async function deadlockWith(other: () => PromiseLike<unknown>): Promise<void> {
  let waiting: Promise<unknown> | undefined;
  await test.db.transaction(async (tx) => {
    // InnoDB ends the transaction that changed fewer rows, which is the other one.
    await tx('thing').insert(Array.from({ length: 50 }, (_, index) => ({ id: 100 + index, amount: 0 })));
    await tx('thing').where({ id: 1 }).increment('amount', 1);
    waiting = Promise.resolve(other());
    await eventually(async () => ((await isLocked(2)) ? true : undefined));
    await tx('thing').where({ id: 2 }).increment('amount', 1);
  });
  await waiting;
}

async function isLocked(id: number): Promise<boolean> {
  const row = await test.db.transaction((tx) => tx('thing').where({ id }).forUpdate().skipLocked().first('id'));
  return row === undefined;
}

async function amounts(): Promise<number[]> {
  const rows: { amount: unknown }[] = await test.db.knex('thing').where('id', '<', 3).orderBy('id');
  return rows.map(({ amount }) => asNumber(amount));
}

it('retries a statement outside a transaction', async () => {
  const errors: unknown[] = [];
  test.db.knex.on('query-error', (error: unknown) => errors.push(error));
  await deadlockWith(() => addToBoth(test.db.knex));
  expect(errors.map(isRetryable)).toEqual([true]);
  expect(await amounts()).toEqual([11, 11]);
});

it('retries a transaction as a whole', async () => {
  let runs = 0;
  await deadlockWith(() =>
    test.db.transaction(async (tx) => {
      runs += 1;
      await tx('thing').insert({ id: 3, amount: 0 });
      await addToBoth(tx);
    }),
  );
  expect(runs).toBe(2);
  expect(await amounts()).toEqual([11, 11]);
});
