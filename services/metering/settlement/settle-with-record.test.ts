// Ledger and metering on one database: a record and its settlement are one commit, and a fault in the ledger does not lose the record.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { collectMetrics } from '#kit/telemetry/metrics.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { call, report, tokens } from '../testing/calls.js';
import { find, outboxOf, until } from '../testing/harness.js';
import { type Customer, heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';

describe('a record on the database of the ledger', () => {
  let money: Money;
  let customer: Customer;
  beforeEach(async () => {
    money = await startMoney('sqlite', { isShared: true });
    customer = await money.customer();
  });
  afterEach(() => money.stop());

  const record = (id: string) =>
    money.metering.recordUsage(report({ call: call({ ...customer, id, heldNanoUsd, price: money.catalog[0]! }) }));
  const holdOf = async (id: string) => (await money.ledger.getHold({ holdId: id, accountId: customer.accountId })).hold!;

  it('is settled when the report is answered, and only once', async () => {
    const id = await money.hold(customer);
    const first = await record(id);
    const { capturedNanoUsd } = await holdOf(id);
    expect(first).toMatchObject({ replayed: false, record: { settlement: { capturedNanoUsd, shortfallNanoUsd: 0n } } });
    expect(capturedNanoUsd).toBe(first.record!.chargeNanoUsd);
    expect(await outboxOf(money.metering)).toMatchObject({ pending: 0n, failed: 0n });
    expect(await record(id)).toMatchObject({ replayed: true, record: { settlement: { capturedNanoUsd } } });
    expect((await money.reconcile()).drifts).toEqual([]);
    expect((await money.ledger.getBalance({ accountId: customer.accountId })).balance).toMatchObject({
      heldNanoUsd: 0n,
      spentNanoUsd: capturedNanoUsd,
    });
  });

  it('shares a commit with records that the ledger refuses, which are kept for operators', async () => {
    const [settled, released] = [await money.hold(customer), await money.hold(customer)];
    await money.ledger.release({ holdId: released, accountId: customer.accountId });
    await Promise.all([record(settled), record(released)]);
    await until(async () => (await outboxOf(money.metering)).failed === 1n);
    expect((await find(money.metering, settled))?.settlement).toBeDefined();
    expect((await find(money.metering, released))?.settlement).toBeUndefined();
    expect((await holdOf(settled)).state).toBe(HoldState.HOLD_STATE_SETTLED);
    expect((await holdOf(released)).state).toBe(HoldState.HOLD_STATE_RELEASED);
  });

  it('is counted with what the ledger could not take, for the alert about shortfalls, once it is stored', async () => {
    const counted = async (): Promise<number> =>
      Number((await collectMetrics()).find(({ name }) => name === 'tollgate.shortfall.nano_usd')?.series[0]?.value ?? 0);
    const before = await counted();
    const poor = await money.customer(heldNanoUsd);
    const id = await money.hold(poor);
    const usage = { call: call({ ...poor, id, heldNanoUsd, price: money.catalog[0]! }), tokens: tokens({ inputTokens: 7000 }) };
    expect((await money.metering.recordUsage(report(usage))).record?.settlement).toMatchObject({ shortfallNanoUsd: 2_000_000n });
    expect((await counted()) - before).toBe(2_000_000);
  });

  it('is stored while the ledger cannot settle, and settled later', async () => {
    const id = await money.hold(customer);
    await money.ledgerDb.knex.schema.renameTable('bucket', 'bucket_away');
    const { record: stored } = await record(id);
    expect(stored?.settlement).toBeUndefined();
    expect(await outboxOf(money.metering)).toMatchObject({ pending: 1n });
    await money.ledgerDb.knex.schema.renameTable('bucket_away', 'bucket');
    money.clock.advance(60_000);
    await until(async () => (await find(money.metering, id))?.settlement !== undefined);
    expect((await holdOf(id)).capturedNanoUsd).toBe(stored!.chargeNanoUsd);
  });

  it('is not settled when it cannot be stored', async () => {
    const id = await money.hold(customer);
    await money.meteringDb.knex.raw("CREATE TRIGGER refuse BEFORE INSERT ON usage_unfolded BEGIN SELECT RAISE(ABORT, 'no room'); END");
    await expect(record(id)).rejects.toThrow();
    expect((await holdOf(id)).state).toBe(HoldState.HOLD_STATE_OPEN);
    expect(await find(money.metering, id)).toBeUndefined();
    await money.meteringDb.knex.raw('DROP TRIGGER refuse');
    expect((await record(id)).record?.settlement).toBeDefined();
  });
});
