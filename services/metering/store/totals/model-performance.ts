// Measures how fast and how reliable each model was, over all accounts, for its public page. Only aggregates of many calls are returned.
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asNumber, asText, optional } from '#kit/db/values.js';
import { ModelPerformance, type ModelPerformance_Period as Period, Outcome } from '#proto/metering/v1/metering.js';
import { errorOutcomes } from '#rules/money/outcomes.js';
import { percentilesOf } from './performance.js';

/** Maximum number of records that are read for one measurement; the newest of all models. */
const readMax = 10_000;
/** With fewer calls, no figures are reported. */
export const callsMin = 50;
/** How long a measurement is kept. */
export const keptMs = 300_000;
/** A rejected request is an error of its client, and must not make a model seem unavailable to others. */
const unavailableOutcomes: readonly Outcome[] = errorOutcomes.filter((outcome) => outcome !== Outcome.OUTCOME_REJECTED);
/** Shorter answers say little about the speed of the output. */
const outputTokensMin = 10;

const newest =
  'SELECT model_id, outcome, streaming, started_at_ms, first_output_ms, duration_ms, output_tokens FROM usage_record' +
  ' WHERE started_at_ms >= ? AND product IS NULL ORDER BY started_at_ms DESC, id DESC LIMIT ?';

interface Call {
  readonly startedAtMs: number;
  readonly isError: boolean;
  /** Undefined for calls that were not streamed or had no output. */
  readonly firstOutputMs: number | undefined;
  /** Undefined for calls without enough streamed output. */
  readonly tokensPerSecond: number | undefined;
}

/** Measures the models on demand, and keeps the result for a while. */
export class ModelPerformances {
  private measured: { readonly atMs: number; readonly models: Promise<ModelPerformance[]> } | undefined;

  constructor(private readonly deps: { readonly db: Database; readonly clock: Clock }) {}

  /** Returns the figures of the models that were called in the last week, measured at most `keptMs` ago. */
  read(): Promise<ModelPerformance[]> {
    const { clock } = this.deps;
    const atMs = clock.monotonicMs();
    if (this.measured !== undefined && atMs - this.measured.atMs < keptMs) return this.measured.models;
    const models = this.measure(clock.nowMs());
    const measured = { atMs, models };
    this.measured = measured;
    // A failure is not kept.
    models.catch(() => {
      if (this.measured === measured) this.measured = undefined;
    });
    return models;
  }

  private async measure(nowMs: number): Promise<ModelPerformance[]> {
    const rows = await this.deps.db.query(newest, [nowMs - 7 * dayMs, readMax]);
    return [...Map.groupBy(rows, (row) => asText(row['model_id']))].map(([modelId, ofModel]) => {
      const calls = ofModel.map(callOf);
      const lastDay = periodOf(calls.filter(({ startedAtMs }) => startedAtMs >= nowMs - dayMs));
      return ModelPerformance.fromPartial({ modelId, lastDay, lastWeek: periodOf(calls) });
    });
  }
}

function callOf(row: Row): Call {
  const firstOutputMs = asNumber(row['streaming']) === 1 ? optional(row['first_output_ms'], asNumber) : undefined;
  const [durationMs, outputTokens] = [asNumber(row['duration_ms']), asNumber(row['output_tokens'])];
  const isMeasured = firstOutputMs !== undefined && outputTokens >= outputTokensMin && durationMs > firstOutputMs;
  return {
    startedAtMs: asNumber(row['started_at_ms']),
    isError: unavailableOutcomes.includes(asNumber(row['outcome'])),
    firstOutputMs,
    tokensPerSecond: isMeasured ? Math.round((outputTokens * 1000) / (durationMs - firstOutputMs)) : undefined,
  };
}

function periodOf(calls: readonly Call[]): Period | undefined {
  if (calls.length < callsMin) return undefined;
  const good = calls.filter(({ isError }) => !isError).length;
  const firstOutputs = calls.flatMap(({ firstOutputMs }) => firstOutputMs ?? []);
  // Percentiles of negative speeds: the 95th is the speed that 95 % of the calls reached.
  const speeds = calls.flatMap(({ tokensPerSecond }) => (tokensPerSecond === undefined ? [] : -tokensPerSecond));
  const speed = speeds.length < callsMin ? undefined : percentilesOf(speeds)!;
  return {
    availableBasisPoints: Math.floor((good * 10_000) / calls.length),
    firstOutput: firstOutputs.length < callsMin ? undefined : percentilesOf(firstOutputs),
    tokensPerSecondP50: speed && -speed.p50Ms,
    tokensPerSecondP5: speed && -speed.p95Ms,
  };
}
