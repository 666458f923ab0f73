// Usage records partitioned with the statements of docs/storage.md behave like any others.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { statementsOf } from '#kit/testing/sql-blocks.js';
import { call, report } from '../testing/calls.js';
import { find, Harness, record } from '../testing/harness.js';

describe.each(testEngines)('usage records by time on %s', (engine) => {
  // SQLite has no partitions.
  const isPartitioned = engine === 'mysql';
  let harness: Harness;

  beforeAll(async () => {
    harness = await Harness.create(engine);
  });

  afterAll(() => harness.close());

  it('keeps existing records, puts new ones into the partition of their time, and drops a partition as a whole', async () => {
    const { service } = await harness.replica();
    const recordedAt = async (ms: number) =>
      (await record(service, report({ call: call({ id: newId('req', ms), startedAtMs: BigInt(ms) }) }))).call!.id;
    const old = await recordedAt(Date.UTC(2026, 11, 31));
    const statements = statementsOf('docs/storage.md', 'usage_record');
    expect(statements).toHaveLength(3);
    for (const statement of isPartitioned ? statements.slice(0, 2) : []) await harness.db.knex.raw(statement);
    const kept = [await recordedAt(Date.UTC(2027, 0, 1)), await recordedAt(Date.UTC(2028, 0, 1))];
    expect(await find(service, old)).toBeDefined();
    if (isPartitioned) await harness.db.knex.raw(statements[2]!);
    else
      await harness.db
        .knex('usage_record')
        .where('started_at_ms', '<', Date.UTC(2027, 0, 1))
        .delete();
    expect(await find(service, old)).toBeUndefined();
    for (const id of kept) expect(await find(service, id)).toBeDefined();
    const { records } = await service.listUsageRecords({ filter: undefined, pageSize: 0, pageToken: '' });
    expect(records.map(({ call: listed }) => listed!.id)).toEqual(kept.reverse());
  });
});
