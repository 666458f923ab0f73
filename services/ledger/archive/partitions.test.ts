// A journal partitioned with the statements of docs/storage.md behaves like any other.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { statementsOf } from '#kit/testing/sql-blocks.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, depositRequest, fundedCustomer, holdRequest, settleRequest } from '../testing/requests.js';

describe.each(testEngines)('a journal by days on %s', (engine) => {
  // SQLite has no partitions.
  const isPartitioned = engine === 'mysql';
  let ledger: TestLedger;
  let customer: Customer;

  beforeAll(async () => {
    ledger = await startTestLedger(engine);
    ledger.clock.advance(Date.UTC(2026, 11, 30) - ledger.clock.nowMs());
    customer = await fundedCustomer(ledger.service, 1_000n);
  });

  afterAll(() => ledger.stop());

  it('keeps its existing entries, and puts new ones into the partition of their day', async () => {
    const statements = statementsOf('docs/storage.md', 'journal');
    expect(statements).toHaveLength(2);
    for (const statement of isPartitioned ? statements : []) await ledger.db.knex.raw(statement);
    for (const at of [Date.UTC(2026, 11, 31), Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1)]) {
      ledger.clock.advance(at - ledger.clock.nowMs());
      const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
      await ledger.service.settle(settleRequest(customer, hold!.id, 30n));
    }
    const deposit = depositRequest(customer, 1n);
    await ledger.service.deposit(deposit);
    expect((await ledger.service.deposit(deposit)).replayed).toBe(true);
    expect((await ledger.service.verify({ accountId: '' })).drifts).toEqual([]);
    const counts = [];
    for (const [partition, from, until] of [
      ['before_2027', 0, 20_819],
      ['before_2028', 20_819, 21_184],
      ['later', 21_184, 100_000],
    ] as const) {
      const rows = await ledger.db
        .knex(isPartitioned ? ledger.db.knex.raw(`journal PARTITION (${partition})`) : 'journal')
        .where('day', '>=', from)
        .where('day', '<', until);
      counts.push(rows.length);
    }
    expect(counts).toEqual([2, 1, 2]);
  });
});
