// What a trace without gaps consists of: every span has its parent, every call to another process has both of its sides, and batches are linked both ways.
import { expect } from '@jest/globals';
import type { ReceivedSpan } from './vendors/otlp.js';

/** The fields of a span that the checks read. Every OTLP receiver and Jaeger's API provide them. */
export type TraceSpan = Pick<
  ReceivedSpan,
  'service' | 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'kind' | 'attributes' | 'isError' | 'events' | 'links'
>;

/** Returns what a call's own spans and the batches that carried it consist of. `all` may contain the spans of other traces. */
export function spansOfCall(traceId: string, all: readonly TraceSpan[]): TraceSpan[] {
  const found = new Set<TraceSpan>();
  const add = (span: TraceSpan): void => {
    if (found.has(span)) return;
    found.add(span);
    for (const each of all) {
      const isBatchOfIt = span.links.includes(each.spanId) && /^(batch|commit) /.test(each.name);
      if (each.parentSpanId === span.spanId || isBatchOfIt) add(each);
    }
  };
  for (const span of all) if (span.traceId === traceId) add(span);
  return [...found];
}

/** Fails when the tree of a call has a gap. `callerSpanId` is the span of its client, or empty. */
export function expectWhole(traceId: string, callerSpanId: string, all: readonly TraceSpan[]): void {
  const own = all.filter((span) => span.traceId === traceId);
  const byId = new Map(own.map((span) => [span.spanId, span]));
  expect(own.filter((span) => !byId.has(span.parentSpanId)).map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
    [expect.stringContaining('POST /v1/'), callerSpanId],
  ]);
  const rpcs = own.filter((span) => 'rpc.method' in span.attributes);
  for (const span of rpcs.filter(({ kind }) => kind === 'server')) {
    const parent = byId.get(span.parentSpanId);
    // A call within one process may have only the side of the service.
    const isWithinProcess = parent?.service === span.service && !(parent.kind === 'client' && 'rpc.method' in parent.attributes);
    if (!isWithinProcess) expect(parent).toMatchObject({ kind: 'client', name: span.name });
  }
  for (const span of rpcs.filter(({ kind }) => kind === 'client'))
    expect([span.name, own.filter(({ parentSpanId, kind }) => parentSpanId === span.spanId && kind === 'server').length]).toEqual([
      span.name,
      1,
    ]);
  const known = new Map(all.map((span) => [span.spanId, span]));
  for (const span of own) {
    for (const link of span.links) expect([span.name, known.get(link)?.links.includes(span.spanId)]).toEqual([span.name, true]);
  }
}
