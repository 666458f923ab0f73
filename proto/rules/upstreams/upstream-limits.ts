// An upstream's own limits: their names in the contract and in JSON, and their bounds.
import type { UpstreamLimits } from '#proto/inference/v1/inference.js';

/** All of them, in the order in which they are shown. */
export const upstreamLimits = [
  { name: 'connectTimeoutMs', field: 'connect_timeout_ms', min: 10, max: 60_000 },
  { name: 'firstTokenTimeoutMs', field: 'first_token_timeout_ms', min: 10, max: 3_600_000 },
  { name: 'slowFirstTokenMs', field: 'slow_first_token_ms', min: 10, max: 3_600_000 },
  { name: 'idleTimeoutMs', field: 'idle_timeout_ms', min: 10, max: 3_600_000 },
  { name: 'totalTimeoutMs', field: 'total_timeout_ms', min: 10, max: 86_400_000 },
  { name: 'callsMax', field: 'calls_max', min: 1, max: 100_000 },
  { name: 'requestsPerMinute', field: 'requests_per_minute', min: 1, max: 1_000_000 },
  { name: 'tokensPerMinute', field: 'tokens_per_minute', min: 1, max: 1_000_000_000 },
  { name: 'probeIntervalMs', field: 'probe_interval_ms', min: 1000, max: 3_600_000 },
] as const satisfies readonly { name: keyof UpstreamLimits; field: string; min: number; max: number }[];

/** The name of a limit in JSON. */
export type UpstreamLimitField = (typeof upstreamLimits)[number]['field'];

/** Returns the limits by their names in JSON; `absent` for those that an upstream does not have. */
export function limitFields<T>(limits: UpstreamLimits | undefined, absent: T): Record<UpstreamLimitField, number | T> {
  return Object.fromEntries(upstreamLimits.map(({ name, field }) => [field, limits?.[name] ?? absent])) as Record<
    UpstreamLimitField,
    number | T
  >;
}

/** Returns the limits that these fields contain; null and undefined ones are absent. */
export function limitsOfFields(fields: Partial<Record<UpstreamLimitField, number | null | undefined>>): UpstreamLimits {
  return Object.fromEntries(upstreamLimits.map(({ name, field }) => [name, fields[field] ?? undefined]));
}
