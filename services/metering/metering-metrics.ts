// The metrics of metering. None of them is about a single account, and calls only pay for counting.
import { metrics } from '@opentelemetry/api';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { type Gauge, observeGauges, type Reading } from '#kit/telemetry/metrics.js';
import { DriftCheck, Outcome, type UsageRecord } from '#proto/metering/v1/metering.js';
import { currentDrifts, type Results } from './reconcile/results.js';
import { readOutboxState } from './store/outbox.js';

const scope = 'tollgate.metering';

/** Counts records as they are stored. Create it once the process's telemetry has started. */
export class MeteringMetrics {
  private readonly calls;
  private readonly chargedNanoUsd;

  constructor() {
    const meter = metrics.getMeter(scope);
    this.calls = meter.createCounter('tollgate.calls', { description: 'Ended calls, by outcome.', unit: '{call}' });
    // A float holds nano-USD exactly up to 9 million USD; the records are exact beyond.
    this.chargedNanoUsd = meter.createCounter('tollgate.charged.nano_usd', { description: 'Charges of ended calls, in nano-USD.' });
  }

  /** Counts a newly stored record. */
  recorded({ outcome, chargeNanoUsd }: UsageRecord): void {
    this.calls.add(1, { outcome: wordOf(Outcome[outcome], 'OUTCOME_') });
    this.chargedNanoUsd.add(Number(chargeNanoUsd));
  }
}

const gauges: readonly Gauge[] = [
  { name: 'tollgate.calls.open', description: 'Calls in flight that have been checkpointed.', unit: '{call}' },
  { name: 'tollgate.outbox.pending', description: 'Charges that wait for the ledger.', unit: '{charge}' },
  { name: 'tollgate.outbox.oldest_age', description: 'How long the oldest of them has waited.', unit: 's' },
  {
    name: 'tollgate.outbox.failed',
    description: 'Charges that the ledger has refused permanently. Anything above 0 needs an operator.',
    unit: '{charge}',
  },
  {
    name: 'tollgate.reconcile.drift',
    description: 'Disagreements between records, ledger and catalog; 0 is the only good value.',
    unit: '{drift}',
  },
  { name: 'tollgate.reconcile.last_run.age', description: 'How long ago the last look of each kind ended.', unit: 's' },
];

/** Reports the outbox and the results of the reconcile job whenever metrics are collected. Returns a function that stops it. */
export function observeMetering(deps: { db: Database; clock: Clock; log: Logger; results: () => Results }): () => void {
  const { db, clock, log, results } = deps;
  return observeGauges(
    scope,
    gauges,
    async () => [...(await outboxReadings(db, clock.nowMs())), ...reconcileReadings(results(), clock.nowMs())],
    log,
  );
}

async function outboxReadings(db: Database, nowMs: number): Promise<Reading[]> {
  const { pending, oldestPendingAtMs, failed, openCalls } = await readOutboxState(db);
  return [
    { name: 'tollgate.calls.open', value: Number(openCalls) },
    { name: 'tollgate.outbox.pending', value: Number(pending) },
    { name: 'tollgate.outbox.oldest_age', value: pending === 0n ? 0 : Math.max(0, nowMs - Number(oldestPendingAtMs)) / 1000 },
    { name: 'tollgate.outbox.failed', value: Number(failed) },
  ];
}

/** Returns the readings. Before the first run nothing is known, so nothing is reported, not even a zero. Pure. */
function reconcileReadings(results: Results, nowMs: number): Reading[] {
  const runs = (['recent', 'full'] as const).flatMap((run) => {
    const finishedAtMs = results[run]?.finishedAtMs;
    return finishedAtMs === undefined
      ? []
      : [{ name: 'tollgate.reconcile.last_run.age', value: Math.max(0, nowMs - Number(finishedAtMs)) / 1000, attributes: { run } }];
  });
  if (runs.length === 0) return [];
  const drifts = currentDrifts(results);
  const checks = Object.values(DriftCheck).filter((check): check is DriftCheck => typeof check === 'number' && check > 0);
  return [
    ...runs,
    ...checks.map((check) => ({
      name: 'tollgate.reconcile.drift',
      value: drifts.filter((drift) => drift.check === check).length,
      attributes: { check: wordOf(DriftCheck[check], 'DRIFT_CHECK_') },
    })),
  ];
}

function wordOf(name: string | undefined, prefix: string): string {
  return (name ?? 'unknown').replace(prefix, '').toLowerCase();
}
