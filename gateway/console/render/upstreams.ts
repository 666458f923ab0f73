// Upstreams and their tests as JSON for operators, never with a secret. Pure.
import { type Upstream as UpstreamMessage, type UpstreamTest as TestMessage, ApiFormat } from '#proto/inference/v1/inference.js';
import { formatUsd } from '#rules/money/money.js';
import { limitFields } from '#rules/upstreams/upstream-limits.js';
import type { Upstream, UpstreamTest } from '../schemas/operator/upstreams.js';
import { instant, orNull } from './values.js';
import { words } from './words.js';

/** Holds a model that is routed to an upstream. */
export interface RoutedModel {
  readonly modelId: string;
  readonly upstreamModel: string;
  readonly isRetired: boolean;
  /** Maximum cost of the calls of a test at the model's own price; undefined: unpriced. */
  readonly trialNanoUsd: bigint | undefined;
}

/** Renders an upstream with the models that are routed to it and the result of its last test. */
export function renderUpstream(upstream: UpstreamMessage, routed: readonly RoutedModel[]): Upstream {
  return {
    id: upstream.id,
    // The other fields exist only for clients.
    api_format: words.apiFormat.of(upstream.apiFormat) as Upstream['api_format'],
    base_url: orNull(upstream.baseUrl),
    has_secret: upstream.hasSecret,
    secret_last_four: orNull(upstream.secretLastFour),
    credentials: upstream.credentials.map(({ id, lastFour, setAtMs }) => ({
      id,
      secret_last_four: orNull(lastFour),
      set_at: setAtMs === 0n ? null : instant(setAtMs),
    })),
    allow_private_network: upstream.allowPrivateNetwork,
    enabled: upstream.enabled,
    whole_answers: upstream.wholeAnswers,
    limits: limitFields(upstream.limits, null),
    allowed_fields: upstream.allowedFields,
    // It cannot be changed here: it is built in, or set by the environment variable in managed_by.
    locked: upstream.managed ? (upstream.apiFormat === ApiFormat.API_FORMAT_SANDBOX ? 'built_in' : 'environment') : null,
    managed_by: upstream.managedBy ?? null,
    created_at: upstream.managed ? null : instant(upstream.createdAtMs),
    last_test: upstream.lastTest === undefined ? null : renderTest(upstream.lastTest),
    models: routed.map(({ modelId, upstreamModel, isRetired, trialNanoUsd }) => ({
      id: modelId,
      upstream_model: upstreamModel,
      retired: isRetired,
      trial_cost_usd: trialNanoUsd === undefined ? null : formatUsd(trialNanoUsd),
    })),
  };
}

/** Renders a test with all of its steps. */
export function renderTest({ startedAtMs, ok, failedStep, steps, upstreamModel }: TestMessage): UpstreamTest {
  return {
    at: instant(startedAtMs),
    ok,
    failed_step: orNull(failedStep),
    upstream_model: orNull(upstreamModel),
    steps: steps.map(({ name, result, durationMs, detail }) => ({
      name,
      outcome: words.testResult.of(result),
      duration_ms: durationMs,
      what: detail,
    })),
  };
}
