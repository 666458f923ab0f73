// Refused calls of an account, and their counts.
import { type Static, Type } from 'typebox';
import { RefusalView } from '../../formats/account-schema.js';
import { allOf, Count, listOf, nullable, parameter, Text, view } from './shapes.js';
import { refusalGroupings } from './words.js';

const ConsoleRefusal = view('ConsoleRefusal', {
  ...RefusalView.properties,
  rule: nullable(Text, 'Identifies the sentence, so that it can be shown in another language.'),
  params: Type.Record(Type.String(), Type.String(), { description: 'The values in the message.' }),
});
export type Refusal = Static<typeof ConsoleRefusal>;
export const RefusalList = listOf(ConsoleRefusal);

export const RefusalTotal = view('RefusalTotal', {
  name: nullable(Text, 'The name of the group. Null for calls that named no model of the catalog, or if nothing is grouped.'),
  then_name: nullable(Text, 'The name of the subgroup.'),
  calls: Count,
});
export type RefusalTotal = Static<typeof RefusalTotal>;
export const RefusalTotalList = allOf(RefusalTotal);

const filter = {
  project: parameter('The id of a project.'),
  key: parameter('The id of a key.'),
  model: parameter('The id of a model.'),
  reason: parameter('An error reason, such as balance_empty.'),
  from: parameter(
    'Calls that were refused at or after this time: a date or a timestamp. Totals begin at the quarter of an hour that contains it.',
  ),
  until: parameter('Calls that were refused before this time.'),
};

export const RefusalSearch = Type.Object({ ...filter, request_id: parameter('One call, by its complete id.') });
export type RefusalSearch = Static<typeof RefusalSearch>;

const grouping = {
  group_by: Type.Optional(Type.Enum(refusalGroupings, { description: 'Absent: one group for all refused calls.' })),
  then_by: Type.Optional(Type.Enum(refusalGroupings, { description: 'Divides each group into subgroups.' })),
  tz_offset: parameter('Where days and hours begin: minutes east of UTC, a multiple of 15; 0 when absent.'),
};
export const RefusalTotals = Type.Object({ ...filter, ...grouping });
export type RefusalTotals = Static<typeof RefusalTotals>;
