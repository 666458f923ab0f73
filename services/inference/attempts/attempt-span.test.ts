import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Clock, ManualClock } from '#kit/clock.js';
import { callContext } from '#client/call-context.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { collect, localUpstream, startInference, type TestInference, textRequest } from '../testing/fixtures.js';

const exporter = new InMemorySpanExporter();
let stub: StubUpstream;
let inference: TestInference;

beforeAll(async () => {
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  stub = await startStubUpstream();
});

afterEach(async () => {
  exporter.reset();
  await inference.stop();
});

afterAll(() => stub.stop());

async function start(changes: Partial<InferenceConfig> = {}, clock?: Clock): Promise<void> {
  inference = await startInference(changes, clock);
  const upstream = localUpstream(stub.baseUrl, { id: 'mine' });
  await inference.service.putUpstream({ upstream, secret: stubApiKey }, callContext({ caller: 'operator' }));
}

const stubRequest = (model: string) => textRequest('Hi', { targets: [{ upstreamId: 'mine', upstreamModel: model }] });

describe('the span of an attempt', () => {
  it('records the request, the answer and the usage', async () => {
    await start();
    stub.script('x', { usage: { input: 5, cacheRead: 3, cacheWrite5m: 2, output: 4, reasoning: 1 } });
    await collect(inference.service, stubRequest('x'));
    const [span] = exporter.getFinishedSpans();
    expect(span).toMatchObject({
      name: 'chat x',
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'mine',
        'gen_ai.request.model': 'x',
        'gen_ai.response.model': 'x',
        'gen_ai.response.id': 'req_stub',
        'gen_ai.response.finish_reasons': ['end'],
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 4,
        'gen_ai.usage.cache_read.input_tokens': 3,
        'gen_ai.usage.reasoning.output_tokens': 1,
        'tollgate.request.id': 'req_test',
        'tollgate.attempt.number': 1,
        'server.address': '127.0.0.1',
        'http.response.status_code': 200,
      },
    });
    expect(span!.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(span!.attributes)).not.toContain('Hi');
  });

  it('has the time to the first chunk, even if the wall clock is set in the meantime', async () => {
    const clock = new ManualClock();
    await start({}, clock);
    stub.script('x', { blocks: [{ type: 'text', text: 'Hello.' }], edit: (events) => [': comment\n\n', ...events], frameDelayMs: 20 });
    for await (const { accepted } of inference.service.generate(stubRequest('x'), callContext({ caller: 'gateway' })))
      if (accepted !== undefined) clock.step(-3_600_000);
    expect(exporter.getFinishedSpans()[0]!.attributes['gen_ai.response.time_to_first_chunk']).toBe(0);
  });

  it('is created for each target tried, and records why the first one failed', async () => {
    await start();
    await collect(
      inference.service,
      textRequest('Hi', { targets: ['status-500', 'text'].map((upstreamModel) => ({ upstreamId: 'mine', upstreamModel })) }),
    );
    const [failed, answered] = exporter.getFinishedSpans();
    expect(failed).toMatchObject({
      name: 'chat status-500',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'upstream_failed', 'http.response.status_code': 500, 'tollgate.attempt.number': 1 },
      events: [{ name: 'exception' }],
    });
    expect(answered).toMatchObject({
      name: 'chat text',
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'http.response.status_code': 200, 'tollgate.attempt.number': 2 },
    });
  });

  it('ends when the consumer disconnects', async () => {
    await start();
    for await (const _message of inference.service.generate(stubRequest('stall'), callContext({ caller: 'gateway' }))) break;
    expect(exporter.getFinishedSpans().map(({ attributes }) => attributes['error.type'])).toEqual(['cancelled']);
  });

  it.each([
    ['private', true],
    ['always', true],
    ['never', false],
  ] as const)('is propagated to a private upstream with the setting "%s": %s', async (propagateTrace, isSent) => {
    await start({ propagateTrace });
    await collect(inference.service, stubRequest('text'));
    const { traceId } = exporter.getFinishedSpans()[0]!.spanContext();
    expect(String(stub.requests.at(-1)!.headers['traceparent']).includes(traceId)).toBe(isSent);
  });

  it('is absent from a trace that is not recorded, which upstreams still receive', async () => {
    await start();
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.NONE };
    await context.with(trace.setSpanContext(ROOT_CONTEXT, parent), () => collect(inference.service, stubRequest('text')));
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(stub.requests.at(-1)!.headers['traceparent']).toBe(`00-${parent.traceId}-${parent.spanId}-00`);
  });
});
