import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { BatchLane } from '../../scheduling/batch-lane.js';
import { type RecordedTraces, recordTraces } from '../../testing/traces.js';

let traces: RecordedTraces;
beforeAll(() => {
  // Records only traces whose id begins with zeros, as those of the calls below, but not of the batch, whose id is random.
  traces = recordTraces({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1e-6' });
});
afterAll(() => traces.stop());

const tracer = trace.getTracer('test');

it('records what a batch of recorded calls does, and ignores the decision of a client', async () => {
  const lane = new BatchLane<string, string>({
    name: 'things',
    apply: async (items) => {
      tracer.startSpan('statement').end();
      return items;
    },
    isOfOneItem: () => false,
    batchMax: 100,
    queueMax: 100,
  });
  const call = (traceId: string, traceFlags: TraceFlags): Promise<void> => {
    const client = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b'.repeat(16), traceFlags, isRemote: true });
    return tracer.startActiveSpan('call', {}, client, async (span) => {
      await lane.add(traceId);
      span.end();
    });
  };
  await Promise.all([
    call('1'.padStart(32, '0'), TraceFlags.NONE),
    call('2'.padStart(32, '0'), TraceFlags.NONE),
    call('f'.padEnd(32, '0'), TraceFlags.SAMPLED),
  ]);
  expect(traces.spans().map(({ name }) => name)).toEqual(['statement', 'batch things', 'call', 'call']);
});
