// The metrics of calls as their clients experience them. None of them names an account, a key or a call.
import { histogram } from '#kit/telemetry/metrics.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { Outcome, type RecordUsageRequest } from '#proto/metering/v1/metering.js';

const by = 'gateway';
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68];
const served = {
  'gen_ai.operation.name': 'chat or embeddings',
  'gen_ai.provider.name': 'tollgate',
  'gen_ai.request.model': 'The id of the model in the catalog.',
  upstream: 'The id of the upstream that was called last.',
};
const duration = histogram(
  {
    name: 'gen_ai.server.request.duration',
    unit: 's',
    description: 'Duration of calls that were admitted, until they are recorded.',
    by,
    labels: { ...served, outcome: 'How the call ended, as in docs/charging.md.' },
  },
  seconds,
);
const timeToFirstToken = histogram(
  {
    name: 'gen_ai.server.time_to_first_token',
    unit: 's',
    description: 'Time from the start of a streamed call to its first output.',
    by,
    labels: served,
  },
  [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30],
);
const timePerOutputToken = histogram(
  {
    name: 'gen_ai.server.time_per_output_token',
    unit: 's',
    description: 'Time per output token after the first output of a streamed call.',
    by,
    labels: served,
  },
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
);
const phases = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const phaseDuration = histogram(
  {
    name: 'tollgate.call.phase.duration',
    unit: 's',
    description: 'Time that calls wait in Tollgate itself, by phase.',
    by,
    labels: { phase: 'hold (limits and a durable hold, before the upstream counts) or record (a durable record, before the end is sent)' },
  },
  phases,
);
const addedDuration = histogram(
  { name: 'tollgate.call.added.duration', unit: 's', description: 'The latency that Tollgate adds to a call: the sum of its phases.', by },
  phases,
);
const [holdPhase, recordPhase, added] = [phaseDuration.of({ phase: 'hold' }), phaseDuration.of({ phase: 'record' }), addedDuration.of()];

/** How long a call waited for its hold and its record, in milliseconds. */
export interface CallPhases {
  readonly holdMs: number;
  readonly recordMs: number;
}

/** Counts an admitted call when it has ended. */
export function countCall(
  { call, outcome, durationMs, firstOutputMs, tokens }: RecordUsageRequest,
  { holdMs, recordMs }: CallPhases,
): void {
  const { modelId, upstreamId, streaming, format } = call!;
  const labels = {
    'gen_ai.operation.name': format === ApiFormat.API_FORMAT_EMBEDDINGS ? 'embeddings' : 'chat',
    'gen_ai.provider.name': 'tollgate',
    'gen_ai.request.model': modelId,
    upstream: upstreamId,
  };
  duration.of({ ...labels, outcome: Outcome[outcome].replace('OUTCOME_', '').toLowerCase() }).record(durationMs / 1000);
  holdPhase.record(holdMs / 1000);
  recordPhase.record(recordMs / 1000);
  added.record((holdMs + recordMs) / 1000);
  if (!streaming || firstOutputMs === undefined) return;
  timeToFirstToken.of(labels).record(firstOutputMs / 1000);
  const furtherTokens = (tokens?.outputTokens ?? 0) - 1;
  if (furtherTokens > 0) timePerOutputToken.of(labels).record((durationMs - firstOutputMs) / 1000 / furtherTokens);
}
