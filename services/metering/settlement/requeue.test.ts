// A ledger that was restored to an earlier moment than metering.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { call, report } from '../testing/calls.js';
import { find, until } from '../testing/harness.js';
import { type Customer, heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';
import { requeueSettlements } from '../store/settlement/requeue.js';

type Rows = Record<string, unknown>[];

describe('settlements that the ledger lost', () => {
  let money: Money;
  let customer: Customer;
  beforeEach(async () => {
    money = await startMoney('sqlite');
    customer = await money.customer();
  });
  afterEach(() => money.stop());

  const tables = ['hold', 'bucket', 'journal'] as const;

  /** Returns a function that brings the ledger's tables back to what they are now. */
  async function remember(): Promise<() => Promise<void>> {
    const { knex } = money.ledgerDb;
    const copies = new Map<string, Rows>();
    for (const table of tables) copies.set(table, await knex(table).select());
    return async () => {
      for (const table of tables) {
        await knex(table).delete();
        for (const row of copies.get(table)!) await knex(table).insert(row);
      }
    };
  }

  it('are booked once, for holds that are open again and for holds that are gone, and nothing else is', async () => {
    const known = await money.makeCall(customer);
    const open = await money.hold(customer);
    const restore = await remember();
    const startedAtMs = BigInt(money.clock.nowMs());
    await money.metering.recordUsage(report({ call: call({ ...customer, id: open, heldNanoUsd, price: money.catalog[0]!, startedAtMs }) }));
    await until(async () => (await find(money.metering, open))?.settlement !== undefined);
    const gone = await money.makeCall(customer);
    const spentNanoUsd = (await balance()).spentNanoUsd;
    await restore();
    expect(new Set((await money.reconcile()).drifts.map(({ callId }) => callId))).toEqual(new Set([open, gone]));

    // As many as a transaction takes, one of which metering knows, and more.
    const others = Array.from({ length: 199 }, () => newId('req'));
    await requeueSettlements(money.meteringDb, [...others, open, known, gone], money.clock.nowMs());
    await until(async () => {
      money.clock.advance(100);
      return (await Promise.all([known, open, gone].map((id) => find(money.metering, id)))).every(
        (record) => record?.settlement !== undefined,
      );
    });
    expect((await money.reconcile()).drifts).toEqual([]);
    expect((await money.ledger.verify({ accountId: '' })).drifts).toEqual([]);
    expect(await balance()).toMatchObject({ spentNanoUsd, heldNanoUsd: 0n });
  });

  it('do not include charges that still wait for the ledger', async () => {
    const waiting = await money.hold(customer);
    await money.ledgerDb.knex.schema.renameTable('bucket', 'bucket_away');
    await money.metering.recordUsage(report({ call: call({ ...customer, id: waiting, heldNanoUsd, price: money.catalog[0]! }) }));
    await requeueSettlements(money.meteringDb, [waiting], money.clock.nowMs());
    expect((await find(money.metering, waiting))?.settlement).toBeUndefined();
    await money.ledgerDb.knex.schema.renameTable('bucket_away', 'bucket');
    await until(async () => {
      money.clock.advance(60_000);
      return (await find(money.metering, waiting))?.settlement !== undefined;
    });
  });

  it('are shown as waiting until the ledger has booked them again', async () => {
    const id = await money.makeCall(customer);
    const before = (await find(money.metering, id))?.settlement;
    await money.ledgerDb.knex.schema.renameTable('bucket', 'bucket_away');
    await requeueSettlements(money.meteringDb, [id], money.clock.nowMs());
    expect((await find(money.metering, id))?.settlement).toBeUndefined();
    expect(await money.meteringDb.knex('usage_record').first('captured_nano_usd', 'shortfall_nano_usd', 'settled_at_ms')).toEqual({
      captured_nano_usd: null,
      shortfall_nano_usd: null,
      settled_at_ms: null,
    });
    await money.ledgerDb.knex.schema.renameTable('bucket_away', 'bucket');
    await until(async () => {
      money.clock.advance(60_000);
      return (await find(money.metering, id))?.settlement !== undefined;
    });
    const { capturedNanoUsd, shortfallNanoUsd } = before!;
    expect((await find(money.metering, id))?.settlement).toMatchObject({ capturedNanoUsd, shortfallNanoUsd });
  });

  const balance = async () => (await money.ledger.getBalance({ accountId: customer.accountId })).balance!;
});
