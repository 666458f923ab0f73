// The job finds faults by itself, logs each once, reports it until it is fixed, and shares its work with other replicas.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { DriftCheck, type GetReconciliationResponse, GroupBy, UsageFilter } from '#proto/metering/v1/metering.js';
import { blocksOf, quartersOf, Shape } from '../rollups/shapes.js';
import { Phase, readRollupState } from '../store/sums/rollup-steps.js';
import { claimRun, ensureRuns, readRuns } from '../store/reconcile-state.js';
import { until } from '../testing/harness.js';
import { type Customer, type Money, startMoney } from '../testing/with-ledger.js';

// The job runs every second, and each test waits for several runs.
jest.setTimeout(60_000);

const bytes = (id: string): Buffer => Buffer.from(id.slice(id.indexOf('_') + 1), 'hex');

describe.each(testEngines)('the reconcile job on %s', (engine) => {
  let money: Money;
  let customer: Customer;

  beforeEach(async () => {
    const env = {
      TOLLGATE_METERING_RECONCILE_INTERVAL: '1s',
      TOLLGATE_METERING_RECONCILE_FULL_INTERVAL: '1h',
      TOLLGATE_METERING_RECONCILE_SLICE: '5s',
    };
    money = await startMoney(engine, { env });
    customer = await money.customer();
  });

  afterEach(() => money.stop());

  const state = (): Promise<GetReconciliationResponse> => money.metering.getReconciliation({});
  const logged = (text: string) => money.lines.filter(({ msg }) => msg === text);

  /** Advances the clock by this much, and waits for a recent run that began after that. */
  async function nextRun(ms: number): Promise<GetReconciliationResponse> {
    money.clock.advance(ms);
    const nowMs = BigInt(money.clock.nowMs());
    await until(async () => ((await state()).recent?.finishedAtMs ?? 0n) >= nowMs);
    const ended = await state();
    // A run may have been under way. The following one is due a second after it ended.
    return ended.recent!.startedAtMs >= nowMs ? ended : nextRun(1000);
  }

  it('checks everything periodically and recent calls in between, and finds nothing wrong', async () => {
    await money.makeCall(customer);
    // The full run that begins with the process may have checked the account before the call.
    money.clock.advance(3_600_000);
    const fromMs = BigInt(money.clock.nowMs());
    await until(async () => ((await state()).full?.startedAtMs ?? 0n) >= fromMs);
    expect(await state()).toMatchObject({
      full: { recordsChecked: 1n, holdsChecked: 1n, accountsChecked: 1n, entriesChecked: 2n, drifts: [] },
      drifts: [],
    });
    money.clock.advance(100_000);
    await nextRun(15_000);
    await money.makeCall(customer);
    const { recent, drifts } = await nextRun(15_000);
    // Only the second call: the first is older than the overlap.
    expect(recent).toMatchObject({ recordsChecked: 1n, holdsChecked: 1n });
    expect(drifts).toEqual([]);
  });

  it('finds sums of usage that differ from the records, rebuilds them, and returns correct totals meanwhile and afterwards', async () => {
    await money.makeCall(customer);
    await money.makeCall(customer);
    const isRolledUp = async (): Promise<boolean> => {
      const { phase, isWaiting } = await readRollupState(money.meteringDb);
      return phase === Phase.complete && !isWaiting;
    };
    await until(isRolledUp);
    const callsOf = async (): Promise<bigint> => {
      const filter = UsageFilter.fromPartial({ accountId: customer.accountId, fromMs: 1n });
      return (
        await money.metering.getUsageTotals({
          filter,
          groupBy: GroupBy.GROUP_BY_KEY,
          thenBy: GroupBy.GROUP_BY_UNSPECIFIED,
          offsetMinutes: 0,
        })
      ).groups[0]!.calls;
    };
    expect((await nextRun(15_000)).drifts).toEqual([]);
    // Simulates a call of this key that was not counted.
    await money.meteringDb
      .knex('usage_sum')
      .where('part', '>=', quartersOf(Shape.key, 0))
      .where('part', '<=', quartersOf(Shape.key, 5))
      .decrement('calls', 1);
    await money.meteringDb.knex('usage_sum').where('part', blocksOf(Shape.key)).decrement('calls', 1);
    expect(await callsOf()).toBe(1n);
    // Found by the next recent run, or by the full one if that is in progress.
    for (let again = 0; again < 5 && logged('the books disagree').length === 0; again += 1) await nextRun(2000);
    const drift = { check: 'DRIFT_CHECK_TOTALS', account_id: customer.accountId, call_id: '', stored: '1', expected: '2' };
    expect(logged('the books disagree')).toMatchObject([
      { ...drift, subject: expect.stringMatching(/^sum of calls by key in the quarter from \d{4}-/) },
      { ...drift, subject: expect.stringMatching(/^sum of calls by key in the block from \d{4}-/) },
    ]);
    expect(await callsOf()).toBe(2n);
    await until(isRolledUp);
    expect(await callsOf()).toBe(2n);
    expect((await nextRun(2000)).drifts).toEqual([]);
  });

  it('logs a drift once, keeps it until it is gone, and logs that', async () => {
    const id = await money.makeCall(customer);
    await nextRun(15_000);
    const record = money.meteringDb.knex('usage_record').where({ id: bytes(id) });
    await record.clone().update({ output_tokens: 60 });
    expect((await nextRun(2000)).drifts).toMatchObject([
      { check: DriftCheck.DRIFT_CHECK_CHARGE, callId: id, accountId: customer.accountId },
    ]);
    expect(logged('the books disagree')).toMatchObject([
      { level: 'error', check: 'DRIFT_CHECK_CHARGE', call_id: id, stored: '200000', expected: '220000' },
    ]);
    // Long after its call has left the window of the recent runs.
    money.clock.advance(1_000_000);
    expect((await nextRun(2000)).drifts).toHaveLength(1);
    expect(logged('the books disagree')).toHaveLength(1);
    await record.clone().update({ output_tokens: 50 });
    expect((await nextRun(2000)).drifts).toEqual([]);
  });

  it('finds changes to old calls and to the journal in a full run', async () => {
    const id = await money.makeCall(customer);
    await until(async () => (await state()).full !== undefined);
    await nextRun(200_000);
    const first = (await state()).full!.finishedAtMs;
    await money.meteringDb
      .knex('usage_record')
      .where({ id: bytes(id) })
      .delete();
    const bucket = money.ledgerDb.knex('bucket').whereNotNull('cap_nano_usd');
    await bucket.clone().update({ cap_nano_usd: 1_000_000_001n });
    expect((await nextRun(2000)).drifts).toEqual([]);
    money.clock.advance(3_600_000);
    await until(async () => (await state()).full!.finishedAtMs > first);
    const drifts = (await state()).drifts.map(({ check, subject: what }) => [check, what]);
    expect(drifts).toEqual(
      expect.arrayContaining([
        [DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'settled without a record'],
        [DriftCheck.DRIFT_CHECK_BOOKS, 'credited'],
      ]),
    );
    // A recent run rebuilds books that were wrong.
    const checks = (await nextRun(2000)).drifts.map(({ check }) => check);
    expect(checks).toEqual(expect.arrayContaining([DriftCheck.DRIFT_CHECK_RECORD_MISSING, DriftCheck.DRIFT_CHECK_BOOKS]));
    // Once the books are correct again, the next recent run sees it.
    await bucket.clone().update({ cap_nano_usd: 1_000_000_000n });
    expect((await nextRun(2000)).drifts).toMatchObject([{ check: DriftCheck.DRIFT_CHECK_RECORD_MISSING, callId: id }]);
  });

  it('checks calls again that were in progress', async () => {
    const open = await money.hold(customer);
    await nextRun(15_000);
    await nextRun(100_000);
    // The hold stays open: the ledger's sweeper does not run in this test.
    expect((await nextRun(100_000)).drifts).toMatchObject([{ check: DriftCheck.DRIFT_CHECK_HOLD_OVERDUE, callId: open }]);
  });

  it('runs on one replica at a time', async () => {
    await ensureRuns(money.meteringDb, 0);
    await ensureRuns(money.meteringDb, 0);
    const [run] = (await readRuns(money.meteringDb)).filter(({ name }) => name === 'recent');
    const seen = { ...run!, dueAtMs: 5 };
    await money.meteringDb.knex('reconcile_state').where({ name: 'recent' }).update({ due_at_ms: 5 });
    const claims = await Promise.all([
      claimRun(money.meteringDb, seen, 9_999_999_999_999),
      claimRun(money.meteringDb, seen, 9_999_999_999_998),
    ]);
    expect(claims.toSorted()).toEqual([false, true]);
  });
});
