import { expect, it } from '@jest/globals';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { Call, type CheckpointUsageRequest } from '#proto/metering/v1/metering.js';
import { newId } from '#kit/id.js';
import { recordedTraceId } from '#kit/telemetry/traces/recorded-trace.js';
import { recordingLogger } from '#kit/testing/log.js';
import { recordTraces } from '#kit/testing/traces.js';
import { promised } from '#kit/testing/waiting.js';
import type { GatewayPeers } from '../peers.js';
import { createCheckpoints } from './checkpoints.js';

it('A checkpoint is linked to the trace of each call that it reports, and each call to it.', async () => {
  const traces = recordTraces();
  const sent = promised<{ request: CheckpointUsageRequest; traceId: string }>();
  const checkpointUsage = async (request: CheckpointUsageRequest): Promise<{ open: boolean[] }> => {
    sent.resolve({ request, traceId: recordedTraceId() });
    return { open: request.items.map(() => true) };
  };
  const { log } = recordingLogger();
  const metering = { checkpointUsage } as unknown as GatewayPeers['metering'];
  const checkpoints = createCheckpoints({ metering, log, intervalMs: 5, rpcTimeoutMs: 1000 });
  const begin = (): string =>
    trace.getTracer('test').startActiveSpan('call', {}, ROOT_CONTEXT, (span) => {
      const call = Call.fromPartial({ id: newId('req') });
      checkpoints.open({ call, tokens: () => TokenCounts.fromPartial({}), onClosed: () => span.end() });
      return span.spanContext().traceId;
    });
  const calls = [begin(), begin()];
  await checkpoints.start();
  const { request, traceId } = await sent.promise;
  await checkpoints.stop();
  expect(request.items).toHaveLength(2);
  const batch = traces.spans().find(({ name }) => name === 'batch checkpoints')!;
  expect(batch.links.map(({ context }) => context.traceId)).toEqual(calls);
  expect(batch.spanContext().traceId).toBe(traceId);
  await traces.stop();
});
