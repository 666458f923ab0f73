// The health of targets as rows, each of which combines the reports of all processes about a target or one of its credentials. Pure.
import type { RoutedTarget } from '../../../../../gateway/console/schemas/operator/targets.js';

type Health = RoutedTarget['health'][number];

/** A target, or one of its credentials. */
export interface TargetRow {
  readonly key: string;
  readonly target: RoutedTarget;
  /** Null for the target itself. */
  readonly credential: string | null;
  /** The worst state in any process; `unknown` until a process has called it. */
  readonly state: Health['state'] | 'drained' | 'unknown';
  /** The number of processes in that state, and of all processes that report. */
  readonly processes: { readonly affected: number; readonly all: number };
  /** From the process that stays in that state the longest. */
  readonly worst: Health | undefined;
  readonly calls: number;
  readonly failures: number;
  /** The mean over the processes. */
  readonly latencyMs: number | null;
}

const ranks = { available: 0, cooling: 1, failing: 2, ejected: 3 };

/** Returns the rows of targets: each is followed by its credentials. */
export function targetRows(targets: readonly RoutedTarget[]): TargetRow[] {
  return targets.flatMap((target) => {
    const reported = target.health.map(({ credential }) => credential);
    const names = [...new Set([...reported, ...target.drained_credentials])].filter((name) => name !== null).toSorted();
    return [null, ...names].map((credential) => rowOf(target, credential));
  });
}

function rowOf(target: RoutedTarget, credential: string | null): TargetRow {
  const health = target.health.filter((each) => each.credential === credential);
  const [worst] = health.toSorted((one, other) => ranks[other.state] - ranks[one.state] || compare(other.until ?? '', one.until ?? ''));
  const isDrained = credential === null ? target.drained : target.drained_credentials.includes(credential);
  const latencies = health.flatMap(({ latency_ms }) => (latency_ms === null ? [] : [latency_ms]));
  return {
    key: JSON.stringify([target.upstream_id, target.upstream_model, credential]),
    target,
    credential,
    state: isDrained ? 'drained' : (worst?.state ?? 'unknown'),
    processes: { affected: health.filter(({ state }) => state === worst?.state).length, all: health.length },
    worst,
    calls: sum(health.map(({ recent_calls }) => recent_calls)),
    failures: sum(health.map(({ recent_failures }) => recent_failures)),
    latencyMs: latencies.length === 0 ? null : Math.round(sum(latencies) / latencies.length),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
