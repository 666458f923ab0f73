// Usage of an account: records, failures, sums and files.
import { Type } from 'typebox';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { Outcome } from '#proto/metering/v1/metering.js';
import { attemptFields, attemptsMean, UsageRecordView } from '../../formats/account-schema.js';
import { holdFields } from './money.js';
import { type Area, file, ok } from './operation.js';
import { allOf, Count, enumOf, listOf, nullable, Text, Usd, view } from './shapes.js';

const forOperators = { description: 'For operators only.' };

const AttemptView = view('Attempt', {
  ...attemptFields,
  upstream: Type.Optional(Type.Object({ id: Text, model: Text }, forOperators)),
  http_status: Type.Optional(
    nullable(Type.Integer(), 'Of the vendor; null where there was no response, or it was not refused. For operators only.'),
  ),
  upstream_request_id: Type.Optional(
    nullable(Text, 'The vendor’s own id of the request; not kept of a call’s only attempt if that did not fail. For operators only.'),
  ),
});

const RecordWithUpstream = view('UsageRecordDetail', {
  ...UsageRecordView.properties,
  attempts: Type.Array(AttemptView, { description: attemptsMean }),
  upstream: Type.Optional(Type.Object({ id: Text, model: Text }, { description: 'Where the call went; for operators only.' })),
});

const RecordHold = view('RecordHold', {
  ...holdFields,
  state: enumOf(HoldState, 'HOLD_STATE_'),
  captured_usd: Usd,
  shortfall_usd: Usd,
  refunded_usd: Usd,
});

const UsageGroup = view('UsageGroup', {
  name: nullable(Text, 'Of the group; null where nothing is grouped.'),
  then_name: nullable(Text, 'Of the group within it.'),
  calls: Count,
  errors: Type.Integer({ minimum: 0, description: 'Calls that failed; a caller who left is none.' }),
  quarantined: Type.Integer({ minimum: 0, description: 'Calls whose upstream reported figures that cannot be true.' }),
  mean_duration_ms: nullable(Count),
  mean_first_output_ms: nullable(Count, 'Null where no call had output.'),
  charge_usd: Usd,
  tokens: Type.Object({ input: Count, cache_read: Count, cache_write: Count, output: Count, reasoning: Count }),
});

const outcomes = enumOf(Outcome, 'OUTCOME_').enum.join(', ');

const filter = {
  key: 'The id of a key.',
  model: 'The id of a model.',
  outcome: `One of ${outcomes}.`,
  from: 'Calls that started then or later: a date or an instant.',
  until: 'Calls that started before then.',
};
const search = { ...filter, request_id: 'One call, by its whole id.' };

export const usageArea: Area = {
  title: 'Usage',
  description: 'Records of calls, one for each, and sums over them.',
  operations: [
    {
      method: 'GET',
      path: '/accounts/{account}/usage/records',
      summary: 'List the records of calls, newest first.',
      who: 'look',
      query: search,
      paged: true,
      answers: [ok(listOf(UsageRecordView))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/usage/records/{id}',
      summary: 'Show one record, with the arithmetic of its charge.',
      who: 'look',
      answers: [ok(RecordWithUpstream)],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/usage/records/{id}/hold',
      summary: 'Show what was set aside for a call, and what became of it.',
      who: 'look',
      answers: [ok(RecordHold)],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/usage/errors',
      summary: 'List the newest calls that failed.',
      who: 'look',
      query: { limit: 'How many at most, 1 to 200; 50 when absent.' },
      answers: [ok(allOf(UsageRecordView))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/usage/totals',
      summary: 'Sum calls up, in groups and groups within those.',
      who: 'look',
      query: {
        ...filter,
        group_by: 'One of key, model, day, hour, outcome; one group over all when absent.',
        then_by: 'Another of them.',
        tz_offset: 'By which days and hours are cut: minutes east of UTC, a multiple of 15; 0 when absent.',
      },
      answers: [ok(allOf(UsageGroup))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/usage/export',
      summary: 'Get exactly the records of the filter as a file.',
      who: 'look',
      query: { ...search, format: 'csv, which it is when absent, or jsonl.' },
      answers: [file('The file, streamed; each line of jsonl is a usage record.', 'text/csv', 'application/x-ndjson')],
    },
  ],
};
