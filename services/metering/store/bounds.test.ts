// Each page is read from where the previous one ended: a statement has one lower and one upper bound for the column of its index.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { doublyBound, notingTexts } from '#kit/testing/statements.js';
import { Outcome, RefusalFilter, UsageFilter } from '#proto/metering/v1/metering.js';
import { call, report, startedAtMs } from '../testing/calls.js';
import { Harness, record } from '../testing/harness.js';
import { oldSettledRecords } from './archive.js';
import { recordedCallsAfter } from './reconcile.js';
import { findRecords } from './records/queries.js';
import { findRefusals } from './refusals/refusal-queries.js';
import { backfill, pendingAfter, rollUpPending } from './sums/rollup-steps.js';
import { SeriesNumbers } from './sums/rollups.js';

let harness: Harness;

beforeAll(async () => {
  harness = await Harness.create('sqlite');
});

afterAll(async () => {
  await harness.close();
});

it('finds two bounds of a column, but not alternatives or bounds of several parts', () => {
  expect(doublyBound('SELECT id FROM t WHERE a >= ? AND b < ? AND a > ? AND (a > ? OR b < ?)')).toEqual(['a']);
  expect(
    doublyBound('select * from (select `id` from `t` where `a` <= ? and (`a` < ? or `id` < ?)) union all select 1 where `a` < ?'),
  ).toEqual([]);
});

it('has one bound on each side for pages of records, refusals, the reconcile job and the archive', async () => {
  const { service } = await harness.replica({ foldIntervalMs: 600_000 });
  const numbers = new SeriesNumbers();
  await backfill(harness.db, numbers, 1);
  const accountId = newId('acct');
  const keyId = newId('key');
  const made = await record(service, report({ call: call({ accountId, keyId }) }));
  await rollUpPending(harness.db, numbers, (await pendingAfter(harness.db, Buffer.alloc(16), 10)).ids);
  const period = { fromMs: startedAtMs - 1000n, untilMs: startedAtMs + 1000n };
  const after = { startedAtMs: startedAtMs + 10n, callId: newId('req') };
  const extent = { accountId: '', fromMs: Number(period.fromMs), untilMs: Number(period.untilMs) };
  const found: unknown[] = [];
  const { db, texts } = notingTexts(harness.db);
  for (const by of [
    { accountId },
    { accountId, keyId },
    { accountId, modelId: 'sandbox/echo' },
    { outcome: Outcome.OUTCOME_COMPLETED },
    {},
  ])
    found.push(...(await findRecords(db, UsageFilter.fromPartial({ ...by, ...period }), after, 10)));
  await findRefusals(db, RefusalFilter.fromPartial({ accountId, ...period }), after, 10);
  for (const each of [extent, { ...extent, accountId }])
    found.push(...(await recordedCallsAfter(db, each, { ...after, startedAtMs: startedAtMs - 5n }, 10)));
  await oldSettledRecords(db, Number(period.untilMs), made, 10);
  expect(found).toHaveLength(7);
  const ofPages = texts.filter((text) => /started_at_ms|refused_at_ms/.test(text));
  expect(ofPages.length).toBeGreaterThanOrEqual(9);
  expect(ofPages.filter((text) => doublyBound(text).length > 0)).toEqual([]);
});
