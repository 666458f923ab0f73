// Each call has one trace, from HTTP through every hop to SQL and the upstream.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, usageRows } from '../support/clients/calls.js';
import { type OtlpReceiver, type ReceivedSpan, spanTree, startOtlpReceiver } from '../support/vendors/otlp.js';
import { eventually } from '../support/systems/process.js';
import { type Mode, modes, startSystem, type System } from '../support/systems/system.js';
import { expectWhole, spansOfCall } from '../support/whole-trace.js';

/** One span for each hop of a call. In single mode the transaction of the record also settles the call. */
const wantedNames = (mode: Mode): readonly string[] => [
  'POST /v1/chat/completions',
  'LedgerService/Hold',
  'InferenceService/Generate',
  'chat ',
  'MeteringService/RecordUsage',
  ...(mode === 'distributed' ? ['LedgerService/Settle'] : []),
];

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

describe.each(modes)('the trace of a call, %s', (mode) => {
  let system: System;
  let receiver: OtlpReceiver;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    system = await startSystem(mode, {
      ...receiver.env,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_BLRP_SCHEDULE_DELAY: '200',
      OTEL_PYTHON_LOG_CORRELATION: 'true',
      TOLLGATE_GATEWAY_TRACE_URL: 'https://jaeger.example.com/trace/{trace_id}',
      // A thread of its own for the gateway, so that the trace passes between threads too.
      ...(mode === 'single' ? { TOLLGATE_GATEWAY_THREADS: '1' } : {}),
    });
  });

  afterAll(async () => {
    await system?.stop();
    await receiver?.stop();
  });

  /** Makes a call within a trace of its client. Returns the ids of both, and the answer's status. */
  async function callInTrace(
    fields: Record<string, unknown> = {},
  ): Promise<{ traceId: string; callerSpanId: string; requestId: string; status: number }> {
    const [traceId, callerSpanId] = [random(16), random(8)];
    const headers = { traceparent: `00-${traceId}-${callerSpanId}-01`, 'user-agent': 'probe/1.0' };
    const response = await chat(system, system.firstKey, fields, { headers });
    await response.text();
    return { traceId, callerSpanId, requestId: response.headers.get('x-request-id')!, status: response.status };
  }

  /** Returns the spans of a call and of its batches, once every process has exported its own. */
  const wholeTrace = (traceId: string, callerSpanId: string, ...alsoWanted: string[]): Promise<readonly ReceivedSpan[]> =>
    eventually(() => {
      const spans = spansOfCall(traceId, receiver.spans) as ReceivedSpan[];
      const isSent = [...wantedNames(mode), ...alsoWanted].every((wanted) => spans.some((span) => span.name.includes(wanted)));
      if (!isSent) return undefined;
      expectWhole(traceId, callerSpanId, receiver.spans);
      return spans;
    });

  it('continues the caller’s trace and reaches every service, without a gap', async () => {
    const { traceId, callerSpanId, requestId } = await callInTrace({ model: 'sandbox/story', max_tokens: 20, stream: true });
    // The first call with a key calls auth.
    const spans = await wholeTrace(traceId, callerSpanId, 'AuthService/Authenticate');
    process.stdout.write(`\nOne call, ${mode}:\n${spanTree(spans)}\n\n`);

    const { id: keyId, account_id: accountId } = await system.json<{ id: string; account_id: string }>('key', 'list');
    const sidesOf = (rpc: string): string[] =>
      spans.flatMap((span) => ('rpc.method' in span.attributes && span.name.endsWith(rpc) ? [span.kind] : [])).sort();
    expect(sidesOf('LedgerService/Hold')).toEqual(['client', 'server']);
    // In single mode, inference runs in the thread of the gateway.
    expect(sidesOf('InferenceService/Generate')).toEqual(mode === 'single' ? ['server'] : ['client', 'server']);
    expect(spans.find((span) => span.name === 'POST /v1/chat/completions')).toMatchObject({
      kind: 'server',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'user_agent.original': 'probe/1.0',
        'gen_ai.request.model': 'sandbox/story',
        'tollgate.request.id': requestId,
        'tollgate.key.id': keyId,
        'tollgate.account.id': accountId,
        'tollgate.project.id': expect.any(String),
      },
    });
    expect(spans.find((span) => span.name === 'chat story')).toMatchObject({
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'story',
        'gen_ai.usage.output_tokens': expect.anything(),
        'tollgate.attempt.number': 1,
        'tollgate.request.id': requestId,
      },
    });
    expect(spans.find((span) => span.name.includes('MeteringService/RecordUsage') && span.kind === 'server')).toMatchObject({
      attributes: {
        'tollgate.request.id': requestId,
        'tollgate.outcome': 'max_tokens',
        'tollgate.charge_usd': expect.stringMatching(/^0\.0/),
        'tollgate.settlement': mode === 'single' ? 'with_record' : 'queued',
      },
    });
    const statements = spans.filter((span) => 'db.system.name' in span.attributes).map(({ name }) => name);
    expect(statements).toEqual(expect.arrayContaining(['INSERT usage_record', 'INSERT hold']));
    expect(new Set(spans.map((span) => span.resource['deployment.environment.name']))).toEqual(new Set(['test']));
    if (mode === 'distributed') {
      expect(new Set(spans.map((span) => span.service))).toEqual(
        new Set(['gateway', 'auth', 'ledger', 'metering', 'inference'].map((name) => `tollgate-${name}`)),
      );
    }
    // The usage record leads to its trace.
    const [row] = await usageRows(system);
    expect(row!.trace_id).toBe(traceId);
    expect(await system.cli('usage', 'show', requestId)).toMatch(new RegExp(`^trace +https://jaeger.example.com/trace/${traceId}$`, 'm'));
  });

  it('has its statements or is linked to those of its batch, however many calls share it', async () => {
    const calls = await Promise.all(Array.from({ length: 20 }, () => callInTrace()));
    for (const { traceId, callerSpanId } of calls) {
      const spans = await wholeTrace(traceId, callerSpanId);
      const statements = spans.filter((span) => 'db.system.name' in span.attributes).map(({ name }) => name);
      expect(statements).toEqual(expect.arrayContaining(['INSERT usage_record', 'INSERT hold']));
    }
    const batches = receiver.spans.filter(({ name }) => name === 'batch ledger operations' || name === 'batch usage records');
    expect(Math.max(...batches.map(({ links }) => links.length))).toBeGreaterThan(1);
  });

  it('has each attempt at an upstream, and why it failed', async () => {
    const { traceId, status } = await callInTrace({ model: 'sandbox/fail-500' });
    expect(status).toBe(502);
    const spans = await eventually(() => {
      const own = receiver.spans.filter((span) => span.traceId === traceId);
      return own.some(({ name }) => name.startsWith('POST ')) && own.some(({ name }) => name.startsWith('chat ')) ? own : undefined;
    });
    const failed = { isError: true, attributes: { 'error.type': 'upstream_failed' } };
    for (const name of ['POST /v1/chat/completions', 'chat fail-500']) {
      expect(spans.find((span) => span.name === name)).toMatchObject({
        ...failed,
        events: [{ name: 'exception', attributes: { 'exception.message': expect.any(String) } }],
      });
    }
  });

  it('contains no secret and no text of the conversation', async () => {
    const word = 'xylophone-in-the-trace';
    const { traceId, callerSpanId } = await callInTrace({ messages: [{ role: 'user', content: word }] });
    await wholeTrace(traceId, callerSpanId);
    const all = JSON.stringify(receiver.spans, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    expect(all).not.toContain(word);
    expect(all).not.toContain(system.firstKey.slice(6, -4));
  });

  it('is in the log lines of the call, which are sent too', async () => {
    const { traceId, requestId } = await callInTrace();
    const line = await eventually(() => receiver.lines.find(({ attributes }) => attributes['request_id'] === requestId));
    expect(line).toMatchObject({
      severity: 'INFO',
      message: 'request',
      traceId,
      service: mode === 'single' ? 'tollgate-single' : 'tollgate-gateway',
    });
    expect(receiver.lines.find(({ message }) => message.includes('OpenTelemetry'))).toMatchObject({
      severity: 'WARN',
      attributes: { variables: expect.objectContaining({}) },
    });
  });

  it('is the only trace: an idle system creates none', async () => {
    let before = -1;
    // Waits until background work of earlier calls, such as settlements, has ended.
    await eventually(async () => {
      const isStill = before === receiver.spans.length;
      before = receiver.spans.length;
      if (!isStill) await sleep(500);
      return isStill ? true : undefined;
    });
    await fetch(`${system.baseUrl}/readyz`);
    await fetch(`${system.baseUrl}/livez`);
    await sleep(1000);
    expect(receiver.spans.slice(before).map(({ service, name }) => [service, name])).toEqual([]);
  });
});
