// How the span of a batch is linked to the calls that it carried.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { context, type Link, ROOT_CONTEXT, type Span, trace, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { BatchLane } from '../../scheduling/batch-lane.js';
import { joinBatch, startWait } from './batch-span.js';
import { type RecordedTraces, recordTraces } from '../../testing/traces.js';

let traces: RecordedTraces;
beforeAll(() => {
  // A trace that begins here is not recorded unless the links of its first span say so.
  traces = recordTraces({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
});
afterEach(() => traces.reset());
afterAll(() => traces.stop());

const tracer = trace.getTracer('test');
const idsOf = (links: readonly Link[]): string[] => links.map((link) => link.context.spanId);
const lane = (apply: () => void = () => undefined) =>
  new BatchLane<string, string>({
    name: 'things',
    apply: async (items) => {
      tracer.startSpan('statement').end();
      apply();
      return items;
    },
    isOfOneItem: () => false,
    batchMax: 100,
    queueMax: 100,
  });

/** Adds an item in a trace of its own; returns what its span was. */
function call(subject: BatchLane<string, string>, name: string, options: { isSampled?: boolean } = {}): Promise<ReadableSpan> {
  const { isSampled = true } = options;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const parent = { traceId: name.padEnd(32, 'a'), spanId: 'b'.repeat(16), traceFlags, isRemote: true };
  return tracer.startActiveSpan(name, {}, trace.setSpanContext(ROOT_CONTEXT, parent), async (span) => {
    await subject.add(name).catch(() => undefined);
    span.end();
    return span as unknown as ReadableSpan;
  });
}

const spanOf = (name: string): ReadableSpan => traces.spans().find((span) => span.name === name)!;

describe('a batch', () => {
  it('is recorded with its calls and linked to them, and each of them to it', async () => {
    const subject = lane();
    const [one, two] = await Promise.all([call(subject, '1'), call(subject, '2'), call(subject, '3', { isSampled: false })]);
    const batch = spanOf('batch things');
    expect(batch.parentSpanContext).toBeUndefined();
    expect(batch.attributes).toMatchObject({ 'tollgate.batch.size': 3 });
    expect(idsOf(batch.links)).toEqual([one.spanContext().spanId, two.spanContext().spanId]);
    for (const span of [one, two]) expect(idsOf(span.links)).toEqual([batch.spanContext().spanId]);
    expect(spanOf('statement').parentSpanContext?.spanId).toBe(batch.spanContext().spanId);
  });

  it('is part of the trace of its only recorded call', async () => {
    const subject = lane();
    const [one] = await Promise.all([call(subject, '1'), call(subject, '2', { isSampled: false })]);
    const batch = spanOf('batch things');
    expect(batch.parentSpanContext?.spanId).toBe(one.spanContext().spanId);
    // An additional link would form a cycle, which no tool can show.
    expect([batch.links, one.links]).toEqual([[], []]);
  });

  it('is not traced for calls that are not recorded, even when it starts in the trace of a previous call', async () => {
    const subject = lane(() => void (started ??= context.with(ROOT_CONTEXT, () => call(subject, '2', { isSampled: false }))));
    let started: Promise<unknown> | undefined;
    await call(subject, '1');
    await started;
    await subject.idle();
    expect(traces.spans().map(({ name }) => name)).toEqual(['statement', 'batch things', '1']);
  });

  it('records its error when it fails', async () => {
    const subject = lane(() => {
      throw Object.assign(new Error("Duplicate entry 'a secret name'"), { code: 'ER_DUP_ENTRY' });
    });
    await call(subject, '1');
    const batch = spanOf('batch things');
    expect(batch).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'ER_DUP_ENTRY' } });
    expect(batch.events.map(({ name, attributes }) => [name, attributes?.['exception.type']])).toEqual([['exception', 'ER_DUP_ENTRY']]);
    expect(JSON.stringify(batch.events)).not.toContain('secret');
  });
});

describe('work that waits for a batch', () => {
  const inTrace = <T>(name: string, work: () => T): T => {
    const parent = { traceId: name.padEnd(32, 'a'), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return context.with(trace.setSpanContext(ROOT_CONTEXT, parent), work);
  };
  const batchOf = (joins: (batch: Span) => void): ReadableSpan =>
    inTrace('2', () =>
      tracer.startActiveSpan('batch', (batch) => {
        joins(batch);
        batch.end();
        return batch as unknown as ReadableSpan;
      }),
    );

  it('is linked with it both ways', () => {
    const wait = inTrace('1', () => startWait('wait'))!;
    const batch = batchOf(() => joinBatch([undefined, wait]));
    wait.end();
    expect([idsOf(spanOf('wait').links), idsOf(batch.links)]).toEqual([[batch.spanContext().spanId], [wait.spanContext().spanId]]);
  });

  it('is not linked with a span that has ended, which could not be linked with it', () => {
    const wait = inTrace('1', () => startWait('wait'))!;
    const batch = batchOf((span) => {
      span.end();
      joinBatch([wait]);
    });
    wait.end();
    expect([spanOf('wait').links, batch.links]).toEqual([[], []]);
  });
});
