// Totals over all accounts are added up from the sums of each account.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { GetUsageTotalsRequest, GroupBy, type MeteringService, type UsageRecord } from '#proto/metering/v1/metering.js';
import { call, price, report, startedAtMs, tokens } from '../../testing/calls.js';
import { Harness, record } from '../../testing/harness.js';
import { byName, groupings, scan } from '../../testing/scan.js';
import { bytesOf } from '../records/record-rows.js';
import { backfill, rebuildRollups, rollUpPending } from '../sums/rollup-steps.js';
import { SeriesNumbers } from '../sums/rollups.js';

describe.each(testEngines)('totals over all accounts on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  const numbers = new SeriesNumbers();

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica({ foldIntervalMs: 600_000 }));
    // Records are added to the sums only by the test.
    await backfill(harness.db, numbers, 1);
  });

  afterEach(() => harness.close());

  /** Records a call with a search of the web, which starts this long after the first. */
  const make = (accountId: string, minutes: number, modelId: string): Promise<UsageRecord> => {
    const search = { unit: 'web_search', nanoUsd: 10n, maxPerCall: 9 };
    const made = call({
      accountId,
      modelId,
      startedAtMs: startedAtMs + BigInt(minutes * 60_000),
      price: price({ units: [search] }),
      unitCaps: { counts: [{ unit: 'web_search', count: 9 }] },
    });
    return record(
      service,
      report({ call: made, tokens: tokens({ inputTokens: 100, units: { counts: [{ unit: 'web_search', count: 1 + (minutes % 3) }] } }) }),
    );
  };
  const rollUp = (records: readonly UsageRecord[]) =>
    rollUpPending(
      harness.db,
      numbers,
      records.map(({ call: made }) => bytesOf('req', made!.id)),
    );
  const totals = async (filter: object, groupBy: GroupBy, thenBy: GroupBy) =>
    (await service.getUsageTotals(GetUsageTotalsRequest.fromPartial({ filter, groupBy, thenBy }))).groups;

  const recordSome = async (): Promise<UsageRecord[]> => {
    const [summed, partly, waiting] = [newId('acct'), newId('acct'), newId('acct')];
    const all: UsageRecord[] = [];
    for (const [index, accountId] of [summed, partly, summed, partly, waiting].entries())
      for (const model of ['a', 'b']) all.push(await make(accountId, index * 7, model));
    await rollUp(all.slice(0, 6));
    // More accounts than one transaction reads, half of them without sums.
    const others: UsageRecord[] = [];
    for (let index = 0; index < 24; index += 1) others.push(await make(newId('acct'), 100 + index, 'c'));
    await rollUp(others.slice(0, 12));
    return [...all, ...others];
  };

  it('equal those of a plain scan, for each grouping, and a period', async () => {
    const all = await recordSome();
    const between = { fromMs: startedAtMs + 3n * 60_000n, untilMs: startedAtMs + 28n * 60_000n };
    const within = all.filter(({ call: made }) => made!.startedAtMs >= between.fromMs && made!.startedAtMs < between.untilMs);
    expect(within).toHaveLength(6);
    const [none, ...others] = groupings;
    expect(await totals({}, none!, none!)).toEqual(scan(all, none!, none!, 'Z'));
    expect(await totals(between, none!, none!)).toEqual(scan(within, none!, none!, 'Z'));
    for (const [index, groupBy] of others.entries()) {
      const thenBy = others.at(index - 1)!;
      expect(byName(await totals({}, groupBy, thenBy))).toEqual(byName(scan(all, groupBy, thenBy, 'Z')));
      expect(byName(await totals(between, groupBy, thenBy))).toEqual(byName(scan(within, groupBy, thenBy, 'Z')));
    }
    const { keyId } = all[0]!.call!;
    expect(await totals({ keyId }, GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_UNSPECIFIED)).toMatchObject([{ name: 'a', calls: 1n }]);
  });

  it('read no records that are in the sums', async () => {
    const before = await recordSome().then(() => totals({}, GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_HOUR));
    // Records that are in the sums change: the totals would show it if they were read.
    await harness.db
      .knex('usage_record')
      .whereNotIn('id', harness.db.knex('usage_unfolded').select('id'))
      .update({ input_tokens: 1_000_000, charge_nano_usd: 1 });
    expect(await totals({}, GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_HOUR)).toEqual(before);
  });

  it('are read from the records while the sums are rebuilt', async () => {
    const all = await recordSome();
    await rebuildRollups(harness.db);
    expect(byName(await totals({}, GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_HOUR))).toEqual(
      byName(scan(all, GroupBy.GROUP_BY_MODEL, GroupBy.GROUP_BY_HOUR, 'Z')),
    );
  });

  it('are zero without calls', async () => {
    expect(await totals({}, GroupBy.GROUP_BY_UNSPECIFIED, GroupBy.GROUP_BY_UNSPECIFIED)).toMatchObject([{ name: '', calls: 0n }]);
    expect(await totals({}, GroupBy.GROUP_BY_KEY, GroupBy.GROUP_BY_UNSPECIFIED)).toEqual([]);
  });
});
