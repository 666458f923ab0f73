import { expect, it } from '@jest/globals';
import { collectMetrics } from '#kit/telemetry/metrics.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { Outcome, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { countCall } from './call-metrics.js';

it.each([
  ['chat', ApiFormat.API_FORMAT_CHAT_COMPLETIONS],
  ['chat', ApiFormat.API_FORMAT_MESSAGES],
  ['chat', ApiFormat.API_FORMAT_RESPONSES],
  ['embeddings', ApiFormat.API_FORMAT_EMBEDDINGS],
])('counts %s of the format %d as that operation', async (operation, format) => {
  const modelId = `model-${format}`;
  countCall(RecordUsageRequest.fromPartial({ call: { modelId, format }, outcome: Outcome.OUTCOME_COMPLETED }), { holdMs: 1, recordMs: 1 });
  const { series } = (await collectMetrics()).find(({ name }) => name === 'gen_ai.server.request.duration')!;
  const counted = series.filter(({ labels }) => labels['gen_ai.request.model'] === modelId);
  expect(counted.map(({ labels }) => labels['gen_ai.operation.name'])).toEqual([operation]);
});
