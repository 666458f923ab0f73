// Each call has one trace, from HTTP through every hop to SQL and the upstream.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, usageRows } from '../support/calls.js';
import { type OtlpReceiver, type ReceivedSpan, spanTree, startOtlpReceiver } from '../support/otlp.js';
import { eventually } from '../support/process.js';
import { type Mode, modes, startSystem, type System } from '../support/system.js';

/** One span for each hop of a call. In single mode the transaction of the record also settles the call. */
const wantedNames = (mode: Mode): readonly string[] => [
  'POST /v1/chat/completions',
  'LedgerService/Hold',
  'InferenceService/Generate',
  'chat ',
  'MeteringService/RecordUsage',
  ...(mode === 'distributed' ? ['LedgerService/Settle'] : []),
];

describe.each(modes)('the trace of a call, %s', (mode) => {
  let system: System;
  let receiver: OtlpReceiver;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    system = await startSystem(mode, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_BSP_SCHEDULE_DELAY: '200' });
  });

  afterAll(async () => {
    await system?.stop();
    await receiver?.stop();
  });

  /** Returns the spans of a trace, once every process has exported its own. */
  const wholeTrace = (traceId: string, callerSpanId: string, ...alsoWanted: string[]): Promise<ReceivedSpan[]> =>
    eventually(() => {
      const spans = receiver.spans.filter((span) => span.traceId === traceId);
      const ids = new Set([callerSpanId, ...spans.map((span) => span.spanId)]);
      const isSent = [...wantedNames(mode), ...alsoWanted].every((wanted) => spans.some((span) => span.name.includes(wanted)));
      return isSent && spans.every((span) => ids.has(span.parentSpanId)) ? spans : undefined;
    });

  it('continues the caller’s trace and reaches every service', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const callerSpanId = 'b7ad6b7169203331';
    const response = await chat(
      system,
      system.firstKey,
      { model: 'sandbox/story', max_tokens: 20, stream: true },
      { headers: { traceparent: `00-${traceId}-${callerSpanId}-01` } },
    );
    await response.text();
    // The first call with a key calls auth.
    const spans = await wholeTrace(traceId, callerSpanId, 'AuthService/Authenticate');
    process.stdout.write(`\nOne call, ${mode}:\n${spanTree(spans)}\n\n`);

    const root = spans.find((span) => span.name === 'POST /v1/chat/completions')!;
    expect(root.parentSpanId).toBe(callerSpanId);
    expect(root.attributes).toMatchObject({ 'http.request.method': 'POST', 'http.route': '/v1/chat/completions' });
    const inference = spans.find((span) => span.name === 'chat story')!;
    expect(inference.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'story',
      'gen_ai.usage.output_tokens': expect.anything(),
    });
    const recorded = spans.find((span) => span.name.includes('MeteringService/RecordUsage') && 'tollgate.settlement' in span.attributes)!;
    expect(recorded.attributes['tollgate.settlement']).toBe(mode === 'single' ? 'with_record' : 'queued');
    expect(spans.some((span) => 'db.system.name' in span.attributes)).toBe(true);
    if (mode === 'distributed') {
      expect(new Set(spans.map((span) => span.service))).toEqual(
        new Set(['gateway', 'auth', 'ledger', 'metering', 'inference'].map((name) => `tollgate-${name}`)),
      );
    }
    // The usage record has the trace id.
    const [row] = await usageRows(system);
    expect(row!.trace_id).toBe(traceId);
  });

  it('contains no secret and no text of the conversation', async () => {
    const word = 'xylophone-in-the-trace';
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const callerSpanId = '00f067aa0ba902b7';
    await (
      await chat(
        system,
        system.firstKey,
        { messages: [{ role: 'user', content: word }] },
        { headers: { traceparent: `00-${traceId}-${callerSpanId}-01` } },
      )
    ).text();
    await wholeTrace(traceId, callerSpanId);
    const all = JSON.stringify(receiver.spans, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    expect(all).not.toContain(word);
    expect(all).not.toContain(system.firstKey.slice(6, -4));
  });
});
