// The metrics of routing. None of them costs a call that succeeds anything.
import { metrics } from '@opentelemetry/api';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { observeGauges } from '#kit/telemetry/metrics.js';
import type { TargetHealth } from './target-health.js';

const scope = 'tollgate.inference';

/** Counts failures, ejections and retries. Create it once the process's telemetry has started. */
export class RoutingMetrics {
  private readonly failures;
  private readonly ejections;
  private readonly slowAnswers;
  private readonly paced;
  private readonly retries;

  constructor() {
    const meter = metrics.getMeter(scope);
    this.failures = meter.createCounter('tollgate.upstream.failures', {
      description: 'Attempts that failed by a fault or a limit of the upstream, by reason.',
      unit: '{attempt}',
    });
    this.ejections = meter.createCounter('tollgate.upstream.ejections', {
      description: 'Ejections of targets because of failures, slow first tokens or a failed trial.',
      unit: '{ejection}',
    });
    this.slowAnswers = meter.createCounter('tollgate.upstream.slow_answers', {
      description: "Answers that began later than the upstream's slow_first_token_ms.",
      unit: '{attempt}',
    });
    this.retries = meter.createCounter('tollgate.upstream.retries', {
      description: 'Further attempts after a failed one, by the upstream that they go to; refused ones by the upstream that failed.',
      unit: '{attempt}',
    });
    this.paced = meter.createCounter('tollgate.upstream.paced', {
      description: "Attempts that waited for the vendor's allowance of requests and tokens per minute, or were given up because of it.",
      unit: '{attempt}',
    });
  }

  /** Counts an attempt that waited for its vendor's allowance, or was given up. */
  countPaced(upstream: string, isAdmitted: boolean): void {
    this.paced.add(1, { upstream, result: isAdmitted ? 'waited' : 'refused' });
  }

  /** Counts a failed attempt. */
  countFailure(upstream: string, reason: string): void {
    this.failures.add(1, { upstream, reason });
  }

  /** Counts an ejection. */
  countEjection(upstream: string): void {
    this.ejections.add(1, { upstream });
  }

  /** Counts an answer that began late. */
  countSlowAnswer(upstream: string): void {
    this.slowAnswers.add(1, { upstream });
  }

  /** Counts a retry, or that the budget had none left. */
  countRetry(upstream: string, isTaken: boolean): void {
    this.retries.add(1, { upstream, result: isTaken ? 'made' : 'over_budget' });
  }
}

/** Reports the targets that are not available whenever metrics are collected. Returns a function that stops it. */
export function observeTargets(
  targets: { all(): Iterable<{ readonly upstreamId: string; readonly credentialId: string; readonly health: TargetHealth }> },
  clock: Clock,
  log: Logger,
): () => void {
  const names = { target: 'tollgate.upstream.targets_unavailable', credential: 'tollgate.upstream.credentials_unavailable' };
  const where = 'that are ejected or cooling down, in each thread and process that calls them.';
  return observeGauges(
    scope,
    [
      { name: names.target, description: `Targets ${where}`, unit: '{target}' },
      { name: names.credential, description: `Credentials of upstreams with several, for each model, ${where}`, unit: '{credential}' },
    ],
    () => {
      const nowMs = clock.monotonicMs();
      const counts = new Map<string, { name: string; upstream: string; ejected: number; cooling: number }>();
      for (const { upstreamId: upstream, credentialId, health } of targets.all()) {
        const name = credentialId === '' ? names.target : names.credential;
        const count = counts.get(`${name} ${upstream}`) ?? { name, upstream, ejected: 0, cooling: 0 };
        counts.set(`${name} ${upstream}`, count);
        if (health.isEjected) count.ejected += 1;
        else if (health.standing(nowMs) === 'cooling') count.cooling += 1;
      }
      return [...counts.values()].flatMap(({ name, upstream, ejected, cooling }) => [
        { name, value: ejected, attributes: { upstream, state: 'ejected' } },
        { name, value: cooling, attributes: { upstream, state: 'cooling' } },
      ]);
    },
    log,
  );
}
