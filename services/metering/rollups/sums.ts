// The sums over calls: as columns of usage_sum and as expressions over usage_record. Pure.
import { asBigInt } from '#kit/db/values.js';
import { errorOutcomes } from '#rules/money/outcomes.js';

/** For each sum: its column in usage_sum, and what one row of usage_record (`r`) adds to it. */
const expressions = {
  calls: '1',
  errors: `CASE WHEN r.outcome IN (${errorOutcomes.join(', ')}) THEN 1 ELSE 0 END`,
  quarantined: 'r.quarantined',
  charge_nano_usd: 'r.charge_nano_usd',
  input_tokens: 'r.input_tokens',
  cache_read_tokens: 'r.cache_read_tokens',
  cache_write_tokens: 'r.cache_write_5m_tokens + r.cache_write_1h_tokens',
  output_tokens: 'r.output_tokens',
  reasoning_tokens: 'r.reasoning_tokens',
  duration_ms: 'r.duration_ms',
  first_output_calls: 'CASE WHEN r.first_output_ms IS NULL THEN 0 ELSE 1 END',
  first_output_ms: 'COALESCE(r.first_output_ms, 0)',
} as const;

type SumColumn = keyof typeof expressions;

/** The columns of sums, in the order of `Sums`. */
export const sumColumns = Object.keys(expressions) as SumColumn[];

const chargeIndex = sumColumns.indexOf('charge_nano_usd');

/** Sums in the order of `sumColumns`. */
export type Sums = bigint[];

/** The sums over rows of usage_record `r`, as items of a SELECT. */
export const sumsOfRecords = sumColumns.map((column) => `SUM(${expressions[column]}) AS ${column}`).join(', ');
/** The sums over rows of usage_sum, as items of a SELECT. */
export const sumsOfRollups = sumColumns.map((column) => `SUM(${column}) AS ${column}`).join(', ');

/** Returns sums of zero. */
export function noSums(): Sums {
  return sumColumns.map(() => 0n);
}

/** Returns the sums of a row that was read; those over no rows are NULL. */
export function sumsFromRow(row: Readonly<Record<string, unknown>>): Sums {
  return sumColumns.map((column) => {
    const value = row[column];
    // The most common case, for example the sum of errors.
    return value === '0' || value === null ? 0n : asBigInt(value);
  });
}

/** Returns the charge in nano-USD. */
export function chargeOf(sums: Sums): bigint {
  return sums[chargeIndex]!;
}

/** Adds `sums` to `to`. */
export function addSums(to: Sums, sums: Sums): void {
  for (let index = 0; index < sums.length; index += 1) to[index]! += sums[index]!;
}

/** The names in the contract, in the order of `sumColumns`. */
const sumNames = [
  'calls',
  'errors',
  'quarantined',
  'chargeNanoUsd',
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'durationMs',
  'firstOutputCalls',
  'firstOutputMs',
] as const;

/** Returns the sums under their names in the contract. */
export function namedSums(sums: Sums): NamedSums {
  return Object.fromEntries(sumNames.map((name, index) => [name, sums[index]!])) as unknown as NamedSums;
}

/** Holds sums under their names in the contract. */
export type NamedSums = Record<(typeof sumNames)[number], bigint>;
