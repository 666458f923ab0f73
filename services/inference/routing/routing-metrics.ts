// The metrics of routing. A call that succeeds does not pay for any of them.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { counter, gauge, observe } from '#kit/telemetry/metrics.js';
import type { TargetHealth } from './target-health.js';

const by = 'inference';
const upstream = 'The id of the upstream.';
const state = 'available, ejected or cooling (after a 429)';
const failures = counter({
  name: 'tollgate.upstream.failures',
  unit: '{attempt}',
  description: 'Attempts that failed because of a fault or a limit of the upstream.',
  by,
  labels: { upstream, reason: 'The reason of the error, as at /docs/errors.' },
});
const ejections = counter({
  name: 'tollgate.upstream.ejections',
  unit: '{ejection}',
  description: 'Ejections of targets because of failures, slow first tokens or a failed trial.',
  by,
  labels: { upstream },
});
const slowAnswers = counter({
  name: 'tollgate.upstream.slow_answers',
  unit: '{attempt}',
  description: "Answers that began later than the upstream's slow_first_token_ms.",
  by,
  labels: { upstream },
});
const retries = counter({
  name: 'tollgate.upstream.retries',
  unit: '{attempt}',
  description: 'Retries by the upstream that they go to; refused retries by the upstream that failed.',
  by,
  labels: { upstream, result: 'made, or over_budget' },
});
const paced = counter({
  name: 'tollgate.upstream.paced',
  unit: '{attempt}',
  description: "Attempts that waited for capacity within the vendor's requests and tokens per minute, or were given up.",
  by,
  labels: { upstream, result: 'waited, or refused' },
});
const targetCount = gauge({
  name: 'tollgate.upstream.targets',
  unit: '{target}',
  description: 'Targets that each thread and process has called, by their health there.',
  by,
  labels: { upstream, state },
});
const credentialCount = gauge({
  name: 'tollgate.upstream.credentials',
  unit: '{credential}',
  description: 'Credentials of upstreams with several, for each model, by their health in each thread and process.',
  by,
  labels: { upstream, state },
});

/** Counts an attempt that waited for its vendor's allowance, or was given up. */
export function countPaced(upstreamId: string, isAdmitted: boolean): void {
  paced.count({ upstream: upstreamId, result: isAdmitted ? 'waited' : 'refused' });
}

/** Counts a failed attempt. */
export function countFailure(upstreamId: string, reason: string): void {
  failures.count({ upstream: upstreamId, reason });
}

/** Counts an ejection. */
export function countEjection(upstreamId: string): void {
  ejections.count({ upstream: upstreamId });
}

/** Counts an answer that began late. */
export function countSlowAnswer(upstreamId: string): void {
  slowAnswers.count({ upstream: upstreamId });
}

/** Counts a retry, or that the budget had none left. */
export function countRetry(upstreamId: string, isTaken: boolean): void {
  retries.count({ upstream: upstreamId, result: isTaken ? 'made' : 'over_budget' });
}

/** Reports the health of targets and credentials whenever metrics are collected. Returns a function that stops it. */
export function observeTargets(
  targets: { all(): Iterable<{ readonly upstreamId: string; readonly credentialId: string; readonly health: TargetHealth }> },
  clock: Clock,
  log: Logger,
): () => void {
  return observe(() => {
    const nowMs = clock.monotonicMs();
    const counts = new Map<string, { metric: typeof targetCount; upstream: string; available: number; ejected: number; cooling: number }>();
    for (const { upstreamId, credentialId, health } of targets.all()) {
      const metric = credentialId === '' ? targetCount : credentialCount;
      const key = `${metric.definition.name} ${upstreamId}`;
      const count = counts.get(key) ?? { metric, upstream: upstreamId, available: 0, ejected: 0, cooling: 0 };
      counts.set(key, count);
      const isCooling = health.standing(nowMs) === 'cooling';
      count[isCooling ? 'cooling' : health.isEjected ? 'ejected' : 'available'] += 1;
    }
    return [...counts.values()].flatMap(({ metric, upstream: upstreamId, ...states }) =>
      Object.entries(states).map(([name, count]) => metric.at(count, { upstream: upstreamId, state: name })),
    );
  }, log);
}
