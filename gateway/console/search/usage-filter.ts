// The filter and the grouping of usage records in the query. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { parseInstant } from '../instants.js';
import { GroupBy, Outcome, type UsageFilter as Filter } from '#proto/metering/v1/metering.js';
import { words } from '../render/words.js';
import type { UsageFilter, UsageGrouping as Grouping } from '../schemas/usage.js';
import type { Call } from '../table/operation.js';

// The range of the world's time zones.
const offsetMinutesMin = -720;
const offsetMinutesMax = 840;

/** What of an account a request may see. */
export type Visible = Pick<Call, 'accountId' | 'projectIds'>;

/** Returns the projects of a filter: the one in the query, else those that the user may see; none for all of the account. */
export function projectsOf(project: string | undefined, { projectIds = [] }: Visible): string[] {
  return project === undefined || project === '' ? [...projectIds] : [project];
}

/** Returns the filter for metering; with `keyIds`, only calls of these keys match. Raises invalid_request with the name of the parameter. */
export function usageFilterOf(query: UsageFilter, visible: Visible, keyIds: readonly string[] = []): Filter {
  return {
    accountId: visible.accountId,
    projectIds: projectsOf(query.project, visible),
    keyId: query.key ?? '',
    keyIds: [...keyIds],
    modelId: query.model ?? '',
    fromMs: instantOf('from', query.from),
    untilMs: instantOf('until', query.until),
    outcome: query.outcome === undefined ? Outcome.OUTCOME_UNSPECIFIED : words.outcome.value(query.outcome),
  };
}

/** Holds the grouping of totals. */
export interface UsageGrouping {
  readonly groupBy: GroupBy;
  readonly thenBy: GroupBy;
  readonly offsetMinutes: number;
}

/** Returns the grouping for metering: a single group without `group_by`. Raises invalid_request with the name of the parameter. */
export function usageGroupingOf({ group_by, then_by, tz_offset }: Grouping): UsageGrouping {
  if (then_by !== undefined && group_by === undefined) throw fieldFault('then_by', 'needs_group_by');
  const isSame = then_by === group_by || [then_by, group_by].every((word) => word === 'key' || word === 'member');
  if (then_by !== undefined && isSame) throw fieldFault('then_by', 'other_group');
  return { groupBy: groupByOf(group_by), thenBy: groupByOf(then_by), offsetMinutes: offsetOf(tz_offset) };
}

/** Totals by member are added up from totals by key. */
function groupByOf(word: Grouping['group_by']): GroupBy {
  return word === undefined ? GroupBy.GROUP_BY_UNSPECIFIED : words.groupBy.value(word === 'member' ? 'key' : word);
}

/** Returns the minutes east of UTC in the query; 0 for none. Raises invalid_request. */
export function offsetOf(text = ''): number {
  // In a query a bare + means a space.
  const minutes = text === '' ? 0 : /^[ +-]?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(minutes >= offsetMinutesMin && minutes <= offsetMinutesMax) || minutes % 15 !== 0)
    throw fieldFault('tz_offset', 'tz_offset', { min: offsetMinutesMin, max: offsetMinutesMax });
  // Never -0.
  return minutes === 0 ? 0 : minutes;
}

/** Returns a time in the query, in UTC unless it has a time zone; 0 for none. Raises invalid_request with the name of the parameter. */
export function instantOf(name: string, text = ''): bigint {
  if (text === '') return 0n;
  const [matched, time, zone] = /^\d{4}-\d{2}-\d{2}(T[\d:.]+([Zz]|[+-]\d{2}:?\d{2})?)?$/.exec(text) ?? [];
  // Without a zone, JavaScript would take a date for UTC, but a time for that of the machine.
  const ms = matched === undefined ? Number.NaN : parseInstant(time === undefined || zone !== undefined ? text : `${text}Z`);
  if (Number.isNaN(ms) || ms < 0) throw fieldFault(name, 'date');
  return BigInt(ms);
}
