// How fast and how reliable calls were. Percentiles cannot be added up from sums, so they are computed from records, of which a bounded number is read.
import type { Database } from '#kit/db/open.js';
import { asNumber, asText, optional } from '#kit/db/values.js';
import type {
  GetUsagePerformanceResponse,
  GetUsagePerformanceResponse_Group as Group,
  GetUsagePerformanceResponse_Percentiles as Percentiles,
  UsageFilter,
} from '#proto/metering/v1/metering.js';
import { errorOutcomes } from '#rules/money/outcomes.js';
import { newestOf } from '../records/queries.js';

/** Maximum number of records that are read for one response. */
const measuredMax = 5000;

interface Measured {
  calls: number;
  errors: number;
  inputTokens: number;
  cacheReadTokens: number;
  readonly durations: number[];
  readonly firstOutputs: number[];
}

/** Returns the figures of the newest records of the filter, in groups. The filter must be valid. */
export async function measureRecords(
  db: Database,
  filter: UsageFilter,
  column: 'model_id' | 'upstream_id',
): Promise<GetUsagePerformanceResponse> {
  const { text, values } = newestOf(
    filter,
    `${column} AS name, outcome, duration_ms, first_output_ms, input_tokens, cache_read_tokens, cache_write_5m_tokens + cache_write_1h_tokens AS cache_written`,
  );
  const rows = await db.plainTransaction((tx) => tx.query(text, [...values, measuredMax + 1]));
  const groups = new Map<string, Measured>();
  for (const row of rows.slice(0, measuredMax)) {
    const name = asText(row['name']);
    let group = groups.get(name);
    if (group === undefined) {
      group = { calls: 0, errors: 0, inputTokens: 0, cacheReadTokens: 0, durations: [], firstOutputs: [] };
      groups.set(name, group);
    }
    const cacheReadTokens = asNumber(row['cache_read_tokens']);
    const isError = errorOutcomes.some((outcome) => outcome === asNumber(row['outcome']));
    const firstOutputMs = optional(row['first_output_ms'], asNumber);
    group.calls += 1;
    group.errors += isError ? 1 : 0;
    group.inputTokens += asNumber(row['input_tokens']) + cacheReadTokens + asNumber(row['cache_written']);
    group.cacheReadTokens += cacheReadTokens;
    if (!isError) group.durations.push(asNumber(row['duration_ms']));
    if (firstOutputMs !== undefined) group.firstOutputs.push(firstOutputMs);
  }
  return {
    groups: [...groups].map(groupOf).toSorted((a, b) => Number(b.calls - a.calls) || (a.name < b.name ? -1 : 1)),
    newestOnly: rows.length > measuredMax,
  };
}

function groupOf([name, { calls, errors, inputTokens, cacheReadTokens, durations, firstOutputs }]: [string, Measured]): Group {
  return {
    name,
    calls: BigInt(calls),
    errors: BigInt(errors),
    duration: percentilesOf(durations),
    firstOutput: percentilesOf(firstOutputs),
    inputTokens: BigInt(inputTokens),
    cacheReadTokens: BigInt(cacheReadTokens),
  };
}

/** Returns the nearest-rank percentiles; undefined without values. */
export function percentilesOf(values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1]!;
  return { p50Ms: at(0.5), p95Ms: at(0.95) };
}
