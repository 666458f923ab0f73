// The targets of models with their health, as JSON for operators. Pure.
import type { Model } from '#proto/catalog/v1/catalog.js';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { EjectionCause, type ListTargetHealthResponse, OverrideMode, type TargetHealth } from '#proto/inference/v1/inference.js';
import type { RoutedTarget, TargetHealth as Health } from '../schemas/operator/targets.js';
import { instant, orNull } from './values.js';
import { words } from './words.js';

interface Collected {
  readonly upstream_id: string;
  readonly upstream_model: string;
  drained: boolean;
  readonly drained_credentials: string[];
  readonly models: string[];
  readonly health: Health[];
}

/** Renders every target that a model has, a process reports or an operator drained, ordered by upstream and model. */
export function renderTargets(models: readonly Model[], { targets, overrides }: ListTargetHealthResponse): RoutedTarget[] {
  const all = new Map<string, Collected>();
  const find = ({ upstreamId, upstreamModel }: { upstreamId: string; upstreamModel: string }): Collected => {
    const key = JSON.stringify([upstreamId, upstreamModel]);
    const found = all.get(key) ?? emptyTarget(upstreamId, upstreamModel);
    all.set(key, found);
    return found;
  };
  for (const { id, state, targets: ofModel } of models) {
    if (state === ModelState.MODEL_STATE_RETIRED) continue;
    for (const target of ofModel) find(target).models.push(id);
  }
  for (const override of overrides) {
    if (override.mode !== OverrideMode.OVERRIDE_MODE_DRAIN) continue;
    if (override.credentialId === '') find(override).drained = true;
    else find(override).drained_credentials.push(override.credentialId);
  }
  for (const health of targets) find(health).health.push(renderHealth(health));
  return [...all.values()].toSorted(
    (one, other) => compare(one.upstream_id, other.upstream_id) || compare(one.upstream_model, other.upstream_model),
  );
}

/** Returns a target of which nothing is known. */
export function emptyTarget(upstreamId: string, upstreamModel: string): Collected {
  return { upstream_id: upstreamId, upstream_model: upstreamModel, drained: false, drained_credentials: [], models: [], health: [] };
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

function renderHealth(health: TargetHealth): Health {
  const { instance, credentialId, state, cause, sinceMs, untilMs, failures, reason, latencyMs, recentCalls, recentFailures } = health;
  return {
    process: instance,
    credential: orNull(credentialId),
    state: words.targetState.of(state),
    cause: cause === EjectionCause.EJECTION_CAUSE_UNSPECIFIED ? null : words.ejectionCause.of(cause),
    since: sinceMs === 0n ? null : instant(sinceMs),
    until: untilMs === 0n ? null : instant(untilMs),
    failures,
    reason: orNull(reason),
    latency_ms: latencyMs ?? null,
    recent_calls: recentCalls,
    recent_failures: recentFailures,
  };
}
