// A real OpenTelemetry Collector with the configuration of deploy/observability, between Tollgate and what keeps its telemetry.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chat } from '../support/clients/calls.js';
import { type OtlpReceiver, startOtlpReceiver } from '../support/vendors/otlp.js';
import { startPrometheus } from '../support/clients/prometheus.js';
import { cleanEnv, eventually, freePort, root } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

const program = join(root, '.toolchain/bin/otelcol');
const config = join(root, 'deploy/observability/collector.yaml');

let folder: string;
let backend: OtlpReceiver;
let collector: ChildProcess;
let system: System;
let exported: string;
let receiver: string;
let own: string;

beforeAll(async () => {
  if (!existsSync(program)) throw new Error('The collector is missing; scripts/install/collector.sh builds it.');
  folder = mkdtempSync(join(tmpdir(), 'tollgate-collector-'));
  backend = await startOtlpReceiver();
  const [otlp, prometheus, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  // The backend of this test reads plain JSON.
  const plain = { encoding: 'json', compression: 'none' };
  const here = join(folder, 'here.yaml');
  writeFileSync(
    here,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${otlp}` } } } },
      processors: { batch: { timeout: '200ms' }, tail_sampling: { decision_wait_after_root_received: '1s' } },
      exporters: { prometheus: { endpoint: `127.0.0.1:${prometheus}` }, 'otlphttp/traces': plain, 'otlphttp/logs': plain },
      service: { telemetry: { metrics: { level: 'none' } } },
    }),
  );
  const env = cleanEnv({ TRACES_ENDPOINT: backend.endpoint, LOGS_ENDPOINT: backend.endpoint });
  execFileSync(program, ['validate', '--config', config], { env });
  collector = spawn(program, ['--config', config, '--config', here], { stdio: 'ignore', env });
  receiver = `http://127.0.0.1:${otlp}`;
  exported = `http://127.0.0.1:${prometheus}/metrics`;
  own = `http://127.0.0.1:${metrics}/metrics`;
  await eventually(async () => ((await fetch(exported)).ok ? true : undefined), 30_000);
  system = await startSystem('single', {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver,
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_BLRP_SCHEDULE_DELAY: '200',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    TOLLGATE_SINGLE_METRICS_LISTEN: `127.0.0.1:${metrics}`,
  });
}, 180_000);

afterAll(async () => {
  await system?.stop();
  collector?.kill();
  await backend?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('The collector keeps the whole trace of a failed call, and passes log lines on.', async () => {
  const failed = await chat(system, system.firstKey, { model: 'sandbox/fail-500' });
  expect(failed.status).toBe(502);
  const requestId = failed.headers.get('x-request-id');
  await eventually(() => {
    const first = backend.spans.find(({ attributes }) => attributes['tollgate.request.id'] === requestId);
    expect(first).toBeDefined();
    const names = backend.spans.filter(({ traceId }) => traceId === first!.traceId).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['POST /v1/chat/completions', 'chat fail-500', 'INSERT hold']));
    expect(backend.lines.length).toBeGreaterThan(0);
    return true;
  }, 30_000);
});

it('The collector keeps the whole trace of a slow call, whose first spans arrive long before its last.', async () => {
  const traceId = 'f'.repeat(32);
  const beganAtMs = Date.now();
  const send = (name: string, spanId: string, parentSpanId: string, beganMs: number, durationMs: number): Promise<Response> => {
    const [startTimeUnixNano, endTimeUnixNano] = [beganMs, beganMs + durationMs].map((ms) => `${ms}000000`);
    const span = { traceId, spanId, parentSpanId, name, kind: 2, startTimeUnixNano, endTimeUnixNano };
    return fetch(`${receiver}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans: [span] }] }] }),
    });
  };
  const streamMs = 35_000;
  expect((await send('Hold', '1'.repeat(16), '2'.repeat(16), beganAtMs, 10)).status).toBe(200);
  await sleep(streamMs);
  expect((await send('POST /v1/messages', '2'.repeat(16), '', beganAtMs, streamMs)).status).toBe(200);
  await eventually(() => {
    const names = backend.spans.filter((span) => span.traceId === traceId).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['Hold', 'POST /v1/messages']);
    return true;
  }, 10_000);
}, 60_000);

it('Prometheus finds the same metrics at the collector as at the process.', async () => {
  await (await chat(system, system.firstKey)).text();
  const namesAt = async (url: string): Promise<Set<string>> => {
    const text = await (await fetch(url)).text();
    return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
  };
  await eventually(async () => {
    const [there, here] = await Promise.all([namesAt(exported), namesAt(own)]);
    expect(there.size).toBeGreaterThan(40);
    expect([...here].filter((name) => !there.has(name))).toEqual([]);
    return true;
  }, 30_000);
});

it('Prometheus tells the processes behind the collector apart.', async () => {
  const [, id] = /^target_info\{.*service_instance_id="(.*?)"/m.exec(await (await fetch(own)).text())!;
  const prometheus = await startPrometheus([new URL(exported).host]);
  try {
    const { result } = await prometheus.get<{ result: { metric: object }[] }>(
      'query?query=min by (instance, part) (tollgate_gateway_ready)',
    );
    expect(result.map(({ metric }) => metric)).toContainEqual({ instance: id, part: 'ledger' });
  } finally {
    await prometheus.stop();
  }
}, 60_000);
