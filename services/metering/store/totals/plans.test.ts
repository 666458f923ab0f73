// On SQLite, totals read those records that are not in the sums, and not all records of an account.
import { expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { notingTexts, plansOf } from '#kit/testing/statements.js';
import { GroupBy, UsageFilter } from '#proto/metering/v1/metering.js';
import { startedAtMs } from '../../testing/calls.js';
import { Harness } from '../../testing/harness.js';
import { groupings } from '../../testing/scan.js';
import { backfill } from '../sums/rollup-steps.js';
import { SeriesNumbers } from '../sums/rollups.js';
import { sumRecords } from './totals.js';

it('find the records of totals by their ids, or at the edges of a period by their time', async () => {
  const harness = await Harness.create('sqlite');
  try {
    await harness.replica({ foldIntervalMs: 600_000 });
    await backfill(harness.db, new SeriesNumbers(), 1);
    const accountId = newId('acct');
    const periods = [
      {},
      { fromMs: startedAtMs + 1n },
      { untilMs: startedAtMs + 1n },
      { fromMs: startedAtMs - 1n, untilMs: startedAtMs + 1n },
    ];
    const filters = periods.flatMap((period) =>
      [{}, { keyId: newId('key') }, { modelId: 'sandbox/echo' }].map((by) => ({ ...period, ...by })),
    );
    const { db, texts } = notingTexts(harness.db);
    for (const filter of filters) {
      const of = UsageFilter.fromPartial({ accountId, ...filter });
      for (const groupBy of groupings) await sumRecords(db, of, { groupBy, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 });
    }
    const ofTotals = texts.filter((text) => text.includes('usage_record r'));
    expect(ofTotals.length).toBeGreaterThanOrEqual(2 * filters.length * groupings.length);
    const found = [...(await plansOf(harness.db, ofTotals))].filter((step) => /^(SCAN|SEARCH) r\b/.test(step));
    const byId = /^SEARCH r USING PRIMARY KEY \(id=\?\)/;
    const byTime =
      /^SEARCH r USING INDEX usage_record_by_(account|key) \(account_id=\? AND (key_id=\? AND )?started_at_ms>\? AND started_at_ms<\?\)/;
    expect(found.filter((step) => !byId.test(step) && !byTime.test(step))).toEqual([]);
    expect([byId, byTime].map((by) => found.some((step) => by.test(step)))).toEqual([true, true]);
  } finally {
    await harness.close();
  }
});
