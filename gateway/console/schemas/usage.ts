// Usage of an account: records of calls and their totals.
import { type Static, Type } from 'typebox';
import { attemptFields, attemptsMean, outcomes, PromptLogState, UsageRecordView } from '../../formats/account-schema.js';
import { holdFields } from './billing.js';
import { allOf, choice, Count, Limit, listOf, nullable, parameter, Text, Usd, view } from './shapes.js';
import { holdStates, recordOrders, totalGroupings } from './words.js';

const operatorsOnly = { description: 'For operators only.' };

const AttemptView = view('Attempt', {
  ...attemptFields,
  upstream: Type.Optional(Type.Object({ id: Text, model: Text }, operatorsOnly)),
  http_status: Type.Optional(
    nullable(
      Type.Integer(),
      "The status of the upstream's response. Null if there was no response, or it was successful. For operators only.",
    ),
  ),
  upstream_request_id: Type.Optional(
    nullable(Text, "The upstream's own id of the request. It is not kept if a call's only attempt succeeded. For operators only."),
  ),
  chosen_by: Type.Optional(
    Type.Enum(['weight', 'prefix', 'hedge'], {
      description:
        'prefix: the target was preferred because it has the beginning of the prompt in its cache. hedge: the first token of another target was late. For operators only.',
    }),
  ),
  credential: Type.Optional(nullable(Text, 'The credential of the upstream. Null if it has only one. For operators only.')),
});
export type Attempt = Static<typeof AttemptView>;

export const UsageRecordDetail = view('UsageRecordDetail', {
  ...UsageRecordView.properties,
  attempts: Type.Array(AttemptView, { description: attemptsMean }),
  prompt_log: PromptLogState,
  upstream: Type.Optional(
    Type.Object({ id: Text, model: Text }, { description: 'The upstream that served the call; for operators only.' }),
  ),
});
export type UsageRecordDetail = Static<typeof UsageRecordDetail>;
export type UsageRecord = Static<typeof UsageRecordView>;
export type Outcome = UsageRecord['outcome'];
export const RecordList = Type.Object({
  ...listOf(UsageRecordView).properties,
  newest_only: Type.Boolean({ description: 'Whether more than 20,000 calls match, so that only the newest 20,000 were sorted.' }),
});
export type RecordList = Static<typeof RecordList>;
export const ErrorList = allOf(UsageRecordView);

export const PromptLog = view('PromptLog', {
  request_body: Type.String({
    description:
      'The body of the request in the API format of the client. Images and files that are not small are replaced by their type and size. JSON, unless it was truncated.',
  }),
  answer_body: nullable(
    Text,
    'The whole answer, even if it was streamed. JSON, unless it was truncated. Null if there was none, and for vectors.',
  ),
  request_truncated: Type.Boolean({ description: 'Whether the body was longer than the maximum and was truncated.' }),
  answer_truncated: Type.Boolean(),
  answer_partial: Type.Boolean({ description: 'Whether the answer ended before the model had finished.' }),
  expires_at: Type.String({ description: 'The time by which both are deleted.' }),
});
export type PromptLog = Static<typeof PromptLog>;

/** The hold of a call, and whether it was settled or released. */
export const RecordHold = view('RecordHold', {
  ...holdFields,
  state: Type.Enum(holdStates),
  captured_usd: Usd,
  shortfall_usd: Usd,
  refunded_usd: Usd,
});
export type RecordHold = Static<typeof RecordHold>;

export const UsageTotal = view('UsageTotal', {
  name: nullable(Text, 'The name of the group. Null if nothing is grouped.'),
  then_name: nullable(Text, 'The name of the subgroup.'),
  calls: Count,
  errors: Type.Integer({ minimum: 0, description: 'Calls that failed. Client disconnects are not counted.' }),
  quarantined: Type.Integer({ minimum: 0, description: 'Calls whose upstream reported implausible figures.' }),
  mean_duration_ms: nullable(Count),
  mean_first_output_ms: nullable(Count, 'Null if no call had output.'),
  charge_usd: Usd,
  tokens: Type.Object({ input: Count, cache_read: Count, cache_write: Count, output: Count, reasoning: Count }),
  units: Type.Array(Type.Object({ unit: Text, quantity: Count, charge_usd: Usd }), {
    description: 'What was used in units other than tokens, and what it cost.',
  }),
});
export type UsageTotal = Static<typeof UsageTotal>;
export type TokenSums = UsageTotal['tokens'];
export const TotalList = allOf(UsageTotal);

const filter = {
  project: parameter('The id of a project.'),
  key: parameter('The id of a key.'),
  member: parameter(
    'Calls of the keys that a user created: the id of the user, or `none` for keys created without one. Requires access to the whole account. At most 1,000 keys.',
  ),
  model: parameter('The id of a model.'),
  outcome: Type.Optional(Type.Enum(outcomes, { description: 'How the calls ended.' })),
  from: parameter('Calls that started at or after this time: a date or a timestamp.'),
  until: parameter('Calls that started before this time.'),
};
export const UsageFilter = Type.Object(filter);
export type UsageFilter = Static<typeof UsageFilter>;

export const RecordSearch = Type.Object({ ...filter, request_id: parameter('One call, by its complete id.') });
export type RecordSearch = Static<typeof RecordSearch>;

export const ListRecords = Type.Object({
  ...RecordSearch.properties,
  sort: Type.Optional(
    Type.Enum(recordOrders, {
      description:
        'Highest first; newest first by default. If more than 20,000 calls match, only the newest are sorted: see `newest_only`.',
    }),
  ),
});

export const ExportRecords = Type.Object({
  ...RecordSearch.properties,
  format: choice(['csv', 'jsonl'], 'csv when absent.'),
});

export const ListErrors = Type.Object({ limit: Limit });

const grouping = {
  group_by: Type.Optional(
    Type.Enum(totalGroupings, {
      description:
        'Absent: one group for all calls. `member` groups by the user who created the key: the name is the id of the user, or null for keys created without one. Requires access to the whole account.',
    }),
  ),
  then_by: Type.Optional(Type.Enum(totalGroupings, { description: 'Divides each group into subgroups.' })),
  tz_offset: parameter('Where days and hours begin: minutes east of UTC, a multiple of 15; 0 when absent.'),
};
export const UsageTotals = Type.Object({
  ...filter,
  ...grouping,
  request_id: parameter('Not allowed: totals include all calls that match the filters.'),
});
export type UsageGrouping = Pick<Static<typeof UsageTotals>, keyof typeof grouping>;

const Percentiles = Type.Object({ p50_ms: Count, p95_ms: Count });
export const UsagePerformance = Type.Object({
  data: Type.Array(
    view('UsagePerformance', {
      name: Type.String({ description: 'The model or the upstream.' }),
      calls: Count,
      errors: Count,
      duration: nullable(Percentiles, 'The duration of calls without an error. Null if there were none.'),
      first_output: nullable(Percentiles, 'The time to the first output of calls that had output. Null if none had.'),
      input_tokens: Type.Integer({ minimum: 0, description: 'Input tokens of every class.' }),
      cache_read_tokens: Type.Integer({ minimum: 0, description: "Those input tokens that were read from the upstream's cache." }),
    }),
    { description: 'The one with the most calls first.' },
  ),
  newest_only: Type.Boolean({ description: 'Whether more than 5,000 calls match. The figures are those of the newest 5,000.' }),
});
export type UsagePerformance = Static<typeof UsagePerformance>;
export const GetUsagePerformance = Type.Object({
  ...filter,
  group_by: choice(['model', 'upstream'], 'model when absent; upstream for operators only.'),
});
