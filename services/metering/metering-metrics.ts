// The metrics of metering. No metric is labelled by account, and a call costs no more than counting.
import type { Clock } from '#kit/clock.js';
import { enumWord } from '#kit/enum-word.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { counter, gauge, histogram, observe, type Reading } from '#kit/telemetry/metrics.js';
import { DriftCheck, Outcome, type UsageRecord } from '#proto/metering/v1/metering.js';
import { currentDrifts, type Results } from './reconcile/results.js';
import { readOutboxState } from './store/settlement/outbox.js';
import { countWaiting } from './store/sums/rollup-steps.js';

/** Bounds how long SQLite counts. */
const waitingMax = 100_000;
const by = 'metering';
const model = 'The id of the model in the catalog.';
const upstream = 'The id of the upstream that was called last.';

const calls = counter({
  name: 'tollgate.calls',
  unit: '{call}',
  description: 'Recorded calls.',
  by,
  labels: { model, upstream, outcome: 'How the call ended, as in docs/charging.md: completed, max_tokens, client_disconnected and so on.' },
});
const charged = counter({
  name: 'tollgate.charged.nano_usd',
  // A float holds nano-USD exactly up to 9 million USD.
  unit: '{nano_usd}',
  description: 'Charges of recorded calls, in nano-USD; the records are exact beyond 9 million USD.',
  by,
  labels: { model, upstream },
});
const tokens = counter({
  name: 'tollgate.tokens',
  unit: '{token}',
  description: 'Tokens of recorded calls.',
  by,
  labels: {
    model,
    upstream,
    type: 'input (without those read from or written to a cache), cache_read, cache_write or output (with reasoning).',
  },
});
const quarantined = counter({
  name: 'tollgate.calls.quarantined',
  unit: '{call}',
  description: "Calls whose upstream reported usage that breaks a rule. They are charged by Tollgate's own count.",
  by,
});
const settlementLag = histogram(
  {
    name: 'tollgate.settlement.lag',
    unit: 's',
    description: 'Time from a record to its settlement in the ledger; 0 if both are in one transaction.',
    by,
  },
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600],
);
const openCalls = gauge(
  { name: 'tollgate.calls.open', unit: '{call}', description: 'Calls in flight that have been checkpointed.', by },
  'max',
);
const outboxPending = gauge(
  { name: 'tollgate.outbox.pending', unit: '{charge}', description: 'Charges that wait for the ledger.', by },
  'max',
);
const outboxAge = gauge(
  { name: 'tollgate.outbox.oldest_age', unit: 's', description: 'How long the oldest charge in the outbox has waited for the ledger.', by },
  'max',
);
const outboxFailed = gauge(
  {
    name: 'tollgate.outbox.failed',
    unit: '{charge}',
    description:
      'Charges, and refunds of undelivered answers, that the ledger has refused permanently. Anything above 0 needs an operator.',
    by,
  },
  'max',
);
const rollupWaiting = gauge(
  {
    name: 'tollgate.rollup.waiting',
    unit: '{record}',
    description: 'Usage records that wait to be added to the sums from which totals are read; counted up to 100,000.',
    by,
  },
  'max',
);
const drift = gauge(
  {
    name: 'tollgate.reconcile.drift',
    unit: '{drift}',
    description: 'Disagreements between records, ledger and catalog; 0 when they all agree.',
    by,
    labels: { check: 'What was compared, as in docs/reconciling.md.' },
  },
  'max',
);
const lastRunAge = gauge(
  {
    name: 'tollgate.reconcile.last_run.age',
    unit: 's',
    description: 'How long ago the last comparison of each kind ended.',
    by,
    labels: { run: 'recent (the latest records) or full' },
  },
  'max',
);

/** Counts a newly stored record. */
export function countRecord({ outcome, chargeNanoUsd, call, tokens: used, settlement, quarantined: isQuarantined }: UsageRecord): void {
  const served = { model: call!.modelId, upstream: call!.upstreamId };
  calls.count({ ...served, outcome: enumWord(Outcome[outcome], 'OUTCOME_') });
  charged.of(served).add(Number(chargeNanoUsd));
  if (used !== undefined) {
    const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = used;
    const counts = {
      input: inputTokens,
      cache_read: cacheReadTokens,
      cache_write: cacheWrite5mTokens + cacheWrite1hTokens,
      output: outputTokens,
    };
    for (const [type, count] of Object.entries(counts)) if (count > 0) tokens.of({ ...served, type }).add(count);
  }
  if (isQuarantined) quarantined.count();
  if (settlement !== undefined) settlementLag.of().record(0);
}

/** Counts the settlement of a record in a transaction of its own. */
export function countSettlement(recordedAtMs: number, settledAtMs: number): void {
  settlementLag.of().record(Math.max(0, settledAtMs - recordedAtMs) / 1000);
}

/** Reports the outbox and the results of the reconcile job whenever metrics are collected. Returns a function that stops it. */
export function observeMetering(deps: { db: Database; clock: Clock; log: Logger; results: () => Results }): () => void {
  const { db, clock, log, results } = deps;
  const ends = [observe(() => outboxReadings(db, clock.nowMs()), log), observe(() => reconcileReadings(results(), clock.nowMs()), log)];
  return () => ends.forEach((end) => end());
}

async function outboxReadings(db: Database, nowMs: number): Promise<Reading[]> {
  const { pending, oldestPendingAtMs, failed, openCalls: open } = await readOutboxState(db);
  return [
    openCalls.at(Number(open)),
    outboxPending.at(Number(pending)),
    outboxAge.at(pending === 0n ? 0 : Math.max(0, nowMs - Number(oldestPendingAtMs)) / 1000),
    outboxFailed.at(Number(failed)),
    rollupWaiting.at(await countWaiting(db, waitingMax)),
  ];
}

/** Returns the readings. Before the first run nothing is known, so nothing is reported, not even a zero. Pure. */
function reconcileReadings(results: Results, nowMs: number): Reading[] {
  const runs = (['recent', 'full'] as const).flatMap((run) => {
    const finishedAtMs = results[run]?.finishedAtMs;
    return finishedAtMs === undefined ? [] : [lastRunAge.at(Math.max(0, nowMs - Number(finishedAtMs)) / 1000, { run })];
  });
  if (runs.length === 0) return [];
  const drifts = currentDrifts(results);
  const checks = Object.values(DriftCheck).filter((check): check is DriftCheck => typeof check === 'number' && check > 0);
  return [
    ...runs,
    ...checks.map((check) =>
      drift.at(drifts.filter((each) => each.check === check).length, { check: enumWord(DriftCheck[check], 'DRIFT_CHECK_') }),
    ),
  ];
}
