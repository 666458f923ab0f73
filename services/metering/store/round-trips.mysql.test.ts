// The round trips of a batch of records to the database, whatever its size. The caller of a call waits for those of the record.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { listStatements, type StatementList } from '#kit/testing/statements.js';
import { report } from '../testing/calls.js';
import { Harness, outboxOf, until } from '../testing/harness.js';

let harness: Harness;
let statements: StatementList;

beforeAll(async () => {
  harness = await Harness.create('mysql');
  statements = listStatements();
});

afterAll(async () => {
  await statements.stop();
  await harness.close();
});

it.each([
  ['four', true, []],
  ['five if one of them was checkpointed', false, ['DELETE open_call']],
])('a batch of records costs %s, and storing what was settled three more', async (_costs, neverCheckpointed, first) => {
  const { service, stop } = await harness.replica();
  const reports = Array.from({ length: 10 }, (_, index) => report({ neverCheckpointed: neverCheckpointed || index > 0 }));
  const sent = await statements.of(async () => {
    await Promise.all(reports.map((each) => service.recordUsage(each)));
    await context.with(ROOT_CONTEXT, async () => {
      await until(async () => (await outboxOf(service)).pending === 0n);
      await stop();
    });
  });
  expect(sent).toEqual([
    ...first,
    'INSERT usage_record',
    'INSERT usage_unfolded',
    'INSERT outbox',
    'COMMIT',
    'UPDATE usage_record',
    'DELETE outbox',
    'COMMIT',
  ]);
});
