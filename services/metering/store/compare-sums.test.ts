import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { Outcome } from '#proto/metering/v1/metering.js';
import { quarterMs, shapes } from '../rollups/shapes.js';
import { call, report, startedAtMs } from '../testing/calls.js';
import { Harness, record, until } from '../testing/harness.js';
import { compareSums } from './compare-sums.js';
import { Phase, readRollupState } from './rollup-steps.js';

describe.each(testEngines)('the comparison of sums with records on %s', (engine) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.create(engine);
  });

  afterEach(() => harness.close());

  it('finds every row that is wrong or missing, and nothing when all are correct', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    const keys = [newId('key'), newId('key')];
    for (const [keyId, modelId, outcome] of [
      [keys[0], 'one', Outcome.OUTCOME_COMPLETED],
      [keys[1], 'two', Outcome.OUTCOME_TIMEOUT],
      [keys[0], 'two', Outcome.OUTCOME_COMPLETED],
    ] as const) {
      await record(service, report({ call: call({ accountId, keyId: keyId!, modelId, startedAtMs }), outcome }));
    }
    await until(async () => {
      const { phase, isWaiting } = await readRollupState(harness.db);
      return phase === Phase.complete && !isWaiting;
    });
    const quarter = { accountId, startMs: Number(startedAtMs) - (Number(startedAtMs) % quarterMs) };
    expect(await compareSums(harness.db, quarter)).toEqual([]);
    const keyColumns = ['account_id', 'part', 'series', 'bucket_ms'] as const;
    const rows = (await harness.db.knex('usage_sum').select()) as Record<string, unknown>[];
    // Each of the shapes three times.
    expect(new Set(rows.map((row) => row['part'])).size).toBe(shapes.length * 3);
    for (const row of rows) {
      const only = Object.fromEntries(keyColumns.map((column) => [column, row[column]]));
      await harness.db.knex('usage_sum').where(only).decrement('charge_nano_usd', 1);
      expect(await compareSums(harness.db, quarter)).not.toEqual([]);
      await harness.db.knex('usage_sum').where(only).delete();
      expect(await compareSums(harness.db, quarter)).not.toEqual([]);
      await harness.db.knex('usage_sum').insert(row);
    }
    expect(await compareSums(harness.db, quarter)).toEqual([]);
  }, 60_000);
});
