// Traces as a real Jaeger has received them, read over its API.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chat, settled } from '../support/clients/calls.js';
import { cleanEnv, eventually, freePort, root } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';
import { expectWhole, spansOfCall, type TraceSpan } from '../support/whole-trace.js';

const program = join(root, '.toolchain/bin/jaeger');

/** A trace as Jaeger's API returns it. */
interface JaegerTrace {
  readonly traceID: string;
  readonly spans: readonly {
    readonly spanID: string;
    readonly operationName: string;
    readonly processID: string;
    readonly references: readonly { readonly refType: 'CHILD_OF' | 'FOLLOWS_FROM'; readonly traceID: string; readonly spanID: string }[];
    readonly tags: readonly { readonly key: string; readonly value: unknown }[];
    readonly logs: readonly { readonly fields: readonly { readonly key: string; readonly value: unknown }[] }[];
    readonly warnings: readonly string[] | null;
  }[];
  readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
}

let jaeger: ChildProcess;
let api: string;
let system: System;

beforeAll(async () => {
  if (!existsSync(program)) throw new Error('Jaeger is missing; scripts/install/jaeger.sh builds it.');
  const [query, otlp, grpc, admin, otherGrpc, sampling] = await Promise.all(Array.from({ length: 6 }, freePort));
  jaeger = spawn(
    program,
    [
      `--query.http-server.host-port=127.0.0.1:${query}`,
      `--query.grpc-server.host-port=127.0.0.1:${otherGrpc}`,
      `--collector.otlp.http.host-port=127.0.0.1:${otlp}`,
      `--collector.otlp.grpc.host-port=127.0.0.1:${grpc}`,
      `--collector.grpc-server.host-port=127.0.0.1:0`,
      `--collector.http-server.host-port=127.0.0.1:${sampling}`,
      `--admin.http.host-port=127.0.0.1:${admin}`,
    ],
    { stdio: 'ignore', env: cleanEnv({}) },
  );
  api = `http://127.0.0.1:${query}/api`;
  await eventually(async () => ((await fetch(`${api}/services`)).ok ? true : undefined), 30_000);
  system = await startSystem('distributed', {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${otlp}`,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    TOLLGATE_GATEWAY_TRACE_URL: `${api}/traces/{trace_id}`,
  });
}, 180_000);

afterAll(async () => {
  await system?.stop();
  jaeger?.kill();
});

async function read(path: string): Promise<JaegerTrace[]> {
  const { data } = (await (await fetch(`${api}/${path}`)).json()) as { data: JaegerTrace[] | null };
  return data ?? [];
}

/** Returns the spans of a trace in the form that the checks know. */
function spansOf({ traceID, spans, processes }: JaegerTrace): TraceSpan[] {
  return spans.map(({ spanID, operationName, processID, references, tags, logs }) => {
    const attributes = Object.fromEntries(tags.map(({ key, value }) => [key, value]));
    const parent = references.find(({ refType, traceID: of }) => refType === 'CHILD_OF' && of === traceID);
    return {
      service: processes[processID]!.serviceName,
      traceId: traceID,
      spanId: spanID,
      parentSpanId: parent?.spanID ?? '',
      name: operationName,
      kind: (attributes['span.kind'] ?? 'internal') as TraceSpan['kind'],
      attributes,
      isError: attributes['error'] === true,
      events: logs.map(({ fields }) => ({
        name: String(fields.find(({ key }) => key === 'event')?.value),
        attributes: Object.fromEntries(fields.map(({ key, value }) => [key, value])),
      })),
      links: references.filter((each) => each !== parent).map((each) => each.spanID),
    };
  });
}

const settledNames = [
  'LedgerService/Hold',
  'MeteringService/RecordUsage',
  'LedgerService/Settle',
  'InferenceService/Generate',
  'batch settlements',
];

it('shows a call as one whole tree, found by the request id and linked from its record', async () => {
  const response = await chat(system, system.firstKey, { model: 'sandbox/story', max_tokens: 20, stream: true });
  await response.text();
  const requestId = response.headers.get('x-request-id')!;
  const tags = encodeURIComponent(JSON.stringify({ 'tollgate.request.id': requestId }));
  const trace = await eventually(async () => {
    const [found] = await read(`traces?service=tollgate-gateway&lookback=1h&limit=20&tags=${tags}`);
    return found !== undefined && settledNames.every((name) => found.spans.some((span) => span.operationName.includes(name)))
      ? found
      : undefined;
  }, 30_000);
  const spans = spansOf(trace);
  expectWhole(trace.traceID, '', spans);
  // Starts have whole milliseconds, so that a span may seem to end a little after its parent.
  expect(trace.spans.flatMap(({ warnings }) => warnings ?? []).filter((warning) => !warning.includes('clock skew'))).toEqual([]);
  expect([...new Set(spans.map(({ service }) => service))].sort()).toEqual(
    ['auth', 'gateway', 'inference', 'ledger', 'metering'].map((name) => `tollgate-${name}`),
  );
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['INSERT hold', 'INSERT usage_record', 'chat story']));
  const shown = await system.cli('usage', 'show', requestId);
  const link = /^trace +(http\S+)$/m.exec(shown)![1]!;
  const { data } = (await (await fetch(link)).json()) as { data: JaegerTrace[] };
  expect(data[0]!.traceID).toBe(trace.traceID);
}, 60_000);

it('links calls that shared a batch to it, and the batch to all of them', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => chat(system, system.firstKey)));
  await Promise.all(responses.map((response) => response.text()));
  const { id: accountId } = await system.json<{ id: string }>('account', 'list');
  await settled(system, accountId, 21);
  const wanted = responses.map((response) => response.headers.get('x-request-id')!);
  await eventually(async () => {
    const traces = await Promise.all(
      ['tollgate-gateway', 'tollgate-ledger', 'tollgate-metering'].map((service) =>
        read(`traces?service=${service}&lookback=1h&limit=500`),
      ),
    );
    const all = [...new Map(traces.flat().map((trace) => [trace.traceID, trace])).values()].flatMap(spansOf);
    for (const requestId of wanted) {
      const root = all.find(
        (span) => span.kind === 'server' && span.attributes['tollgate.request.id'] === requestId && span.parentSpanId === '',
      );
      expect(root).toBeDefined();
      expectWhole(root!.traceId, '', all);
      const names = spansOfCall(root!.traceId, all).map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['INSERT hold', 'INSERT usage_record', ...settledNames.map((name) => expect.stringContaining(name))]),
      );
    }
    expect(Math.max(...all.filter(({ name }) => name === 'batch ledger operations').map(({ links }) => links.length))).toBeGreaterThan(1);
    return true;
  }, 30_000);
}, 90_000);
