// Sums as a plain scan of the records computes them, for tests that compare.
import { Outcome, type GetUsageTotalsResponse_Group, GroupBy, type UnitTotal, type UsageRecord } from '#proto/metering/v1/metering.js';
import { addUnit, unitTotals } from '../store/totals/unit-totals.js';
import { errorOutcomes } from '#rules/money/outcomes.js';

/** All possible groupings. */
export const groupings = [
  GroupBy.GROUP_BY_UNSPECIFIED,
  GroupBy.GROUP_BY_PROJECT,
  GroupBy.GROUP_BY_KEY,
  GroupBy.GROUP_BY_MODEL,
  GroupBy.GROUP_BY_DAY,
  GroupBy.GROUP_BY_HOUR,
  GroupBy.GROUP_BY_OUTCOME,
];

/** UTC offsets as text, and their minutes. */
export const zones: readonly (readonly [number, string])[] = [
  [0, 'Z'],
  [840, '+14:00'],
  [-660, '-11:00'],
  [345, '+05:45'],
  [-210, '-03:30'],
  [525, '+08:45'],
];

const formats = new Map(
  zones.map(([, offset]) => {
    const timeZone = offset === 'Z' ? '+00:00' : offset;
    return [
      offset,
      new Intl.DateTimeFormat('en-CA', { timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit' }),
    ];
  }),
);

/** Returns the local time of an instant in this zone, computed by the platform and not by the sums' own arithmetic. */
function localText(atMs: bigint, offset: string): string {
  const parts = formats.get(offset)!.formatToParts(Number(atMs));
  const part = (type: string): string => parts.find((each) => each.type === type)!.value;
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}`;
}

function nameOf(stored: UsageRecord, groupBy: GroupBy, offset: string): string {
  const { projectId, keyId, modelId, startedAtMs: atMs } = stored.call!;
  switch (groupBy) {
    case GroupBy.GROUP_BY_PROJECT:
      return projectId;
    case GroupBy.GROUP_BY_KEY:
      return keyId;
    case GroupBy.GROUP_BY_MODEL:
      return modelId;
    case GroupBy.GROUP_BY_DAY:
      return localText(atMs, offset).slice(0, 10);
    case GroupBy.GROUP_BY_HOUR:
      return `${localText(atMs, offset)}:00${offset}`;
    case GroupBy.GROUP_BY_OUTCOME:
      return Outcome[stored.outcome]!.slice('OUTCOME_'.length).toLowerCase();
    default:
      return '';
  }
}

/** Adds records up one by one. */
export function scan(records: readonly UsageRecord[], groupBy: GroupBy, thenBy: GroupBy, offset: string): GetUsageTotalsResponse_Group[] {
  const groups = new Map<string, GetUsageTotalsResponse_Group>();
  for (const stored of records) {
    const name = nameOf(stored, groupBy, offset);
    const thenName = nameOf(stored, thenBy, offset);
    const sums = groups.get(`${name} ${thenName}`) ?? {
      name,
      thenName,
      calls: 0n,
      chargeNanoUsd: 0n,
      inputTokens: 0n,
      cacheReadTokens: 0n,
      cacheWriteTokens: 0n,
      outputTokens: 0n,
      reasoningTokens: 0n,
      errors: 0n,
      quarantined: 0n,
      durationMs: 0n,
      firstOutputCalls: 0n,
      firstOutputMs: 0n,
      units: [],
    };
    const used = stored.tokens!;
    sums.calls += 1n;
    sums.chargeNanoUsd += stored.chargeNanoUsd;
    sums.inputTokens += BigInt(used.inputTokens);
    sums.cacheReadTokens += BigInt(used.cacheReadTokens);
    sums.cacheWriteTokens += BigInt(used.cacheWrite5mTokens + used.cacheWrite1hTokens);
    sums.outputTokens += BigInt(used.outputTokens);
    sums.errors += BigInt(errorOutcomes.includes(stored.outcome as never));
    sums.quarantined += BigInt(stored.quarantined);
    sums.durationMs += BigInt(stored.durationMs);
    sums.firstOutputCalls += BigInt(stored.firstOutputMs !== undefined);
    sums.firstOutputMs += BigInt(stored.firstOutputMs ?? 0);
    sums.reasoningTokens += BigInt(used.reasoningTokens);
    const units = new Map(sums.units.map((total) => [total.unit, total]));
    for (const total of unitsOf(stored)) addUnit(units, total);
    sums.units = unitTotals(units);
    groups.set(`${name} ${thenName}`, sums);
  }
  return [...groups.values()];
}

function unitsOf({ tokens, lineItems }: UsageRecord): UnitTotal[] {
  const chargeOf = (unit: string): bigint => lineItems.find((item) => item.unit === unit)?.amountNanoUsd ?? 0n;
  return (tokens!.units?.counts ?? []).map(({ unit, count }) => ({ unit, quantity: BigInt(count), chargeNanoUsd: chargeOf(unit) }));
}

const named = ({ name, thenName }: GetUsageTotalsResponse_Group): string => `${name} ${thenName}`;

/** Sorts groups in an order that does not depend on the sums. */
export function byName(groups: readonly GetUsageTotalsResponse_Group[]): GetUsageTotalsResponse_Group[] {
  return groups.toSorted((a, b) => (named(a) < named(b) ? -1 : 1));
}
