// On SQLite, totals read those records that are not in the sums, and not all records of an account.
import { expect, it } from '@jest/globals';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { newId } from '#kit/id.js';
import { GroupBy, UsageFilter } from '#proto/metering/v1/metering.js';
import { startedAtMs } from '../../testing/calls.js';
import { Harness } from '../../testing/harness.js';
import { groupings } from '../../testing/scan.js';
import { backfill } from '../sums/rollup-steps.js';
import { SeriesNumbers } from '../sums/rollups.js';
import { sumIn } from './totals.js';

it('find the records of totals by their ids, or at the edges of a period by their time', async () => {
  const harness = await Harness.create('sqlite');
  try {
    await harness.replica();
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
    const found = await harness.db.plainTransaction(async (tx) => {
      const ofRecords = new Set<string>();
      const watched = Object.assign(Object.create(tx) as PlainTransaction, {
        query: async (text: string, values: readonly unknown[]) => {
          for (const row of await tx.query(`EXPLAIN QUERY PLAN ${text}`, values)) {
            const detail = String(row['detail']);
            if (/^(SCAN|SEARCH) r\b/.test(detail)) ofRecords.add(detail);
          }
          return tx.query(text, values);
        },
      });
      for (const filter of filters)
        for (const groupBy of groupings)
          await sumIn(watched, UsageFilter.fromPartial({ accountId, ...filter }), {
            groupBy,
            thenBy: GroupBy.GROUP_BY_UNSPECIFIED,
            offsetMinutes: 0,
          });
      return ofRecords;
    });
    const byId = /^SEARCH r USING PRIMARY KEY \(id=\?\)/;
    const byTime =
      /^SEARCH r USING INDEX usage_record_by_(account|key) \(account_id=\? AND (key_id=\? AND )?started_at_ms>\? AND started_at_ms<\?\)/;
    expect([...found].filter((detail) => !byId.test(detail) && !byTime.test(detail))).toEqual([]);
    expect([byId, byTime].map((by) => [...found].some((detail) => by.test(detail)))).toEqual([true, true]);
  } finally {
    await harness.close();
  }
});
