// The limits of spans that OTEL_SPAN_… and OTEL_ATTRIBUTE_… configure.
import { afterEach, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { type RecordedTraces, recordTraces } from '../../testing/traces.js';

let traces: RecordedTraces;
afterEach(() => traces.stop());

function recorded(env: Readonly<Record<string, string>>) {
  traces = recordTraces(env);
  const tracer = trace.getTracer('test');
  const other = { context: tracer.startSpan('other').spanContext() };
  tracer
    .startSpan('limited', { attributes: { a: 'first', b: 'second', c: 'third' } })
    .addLinks([other, other])
    .addEvent('x')
    .addEvent('y')
    .end();
  const { attributes, events, links } = traces.spans()[0]!;
  return { attributes, events: events.length, links: links.length };
}

it('apply to spans', () => {
  const env = {
    OTEL_ATTRIBUTE_COUNT_LIMIT: '1',
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '1',
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '2',
    OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: '3',
    OTEL_SPAN_EVENT_COUNT_LIMIT: '1',
    OTEL_SPAN_LINK_COUNT_LIMIT: '1',
  };
  expect(recorded(env)).toEqual({ attributes: { a: 'fir', b: 'sec' }, events: 1, links: 1 });
});

it('of attributes apply to those of spans, unless spans have their own', () => {
  const env = { OTEL_ATTRIBUTE_COUNT_LIMIT: '1', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '2' };
  expect(recorded(env)).toEqual({ attributes: { a: 'fi' }, events: 2, links: 2 });
});
