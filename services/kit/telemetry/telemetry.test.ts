// What a collector receives, what Prometheus scrapes, and what telemetry costs a process without either.
import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { listen } from '../testing/local-server.js';
import { counter, gauge, histogram, observe } from './metrics.js';
import { startTelemetry } from './telemetry.js';
import { recordingLogger } from '../testing/log.js';
import { otelOf } from '../testing/traces.js';
import { failureOf, untilTrue } from '../testing/waiting.js';

const { log, lines } = recordingLogger();
// Not a part of docs/metrics.md, although tests share a process.
const text = { description: 'A test.', by: 'tests' };
const probes = counter({
  name: 'tollgate.probe.calls',
  unit: '{call}',
  ...text,
  description: 'Calls.\nAll of them.',
  labels: { outcome: 'Any.' },
});
const duration = histogram({ name: 'probe.duration', unit: 's', labels: { 'http.route': 'The route.' }, ...text }, [0.1, 1]);
const depth = gauge({ name: 'probe.depth', unit: '{item}', ...text });
const common = { serviceName: 'tollgate-probe', instanceId: 'replica-7', otel: otelOf(), metricsIntervalMs: 60_000, log };

describe('telemetry', () => {
  it('sends what is buffered when it stops', async () => {
    const received: { path: string | undefined; body: string }[] = [];
    const collector = createServer(async (request, response) => {
      received.push({ path: request.url, body: await textOf(request) });
      response.end('{}');
    });
    const otel = otelOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await listen(collector)}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=ignored',
    });
    const telemetry = await startTelemetry({ ...common, otel, metricsListen: undefined });
    trace.getTracer('test').startSpan('the last thing it did').end();
    probes.of({ outcome: 'the last count' }).add(3);
    await telemetry.stop();
    collector.close();
    expect(received.map(({ path }) => path).toSorted()).toEqual(['/v1/metrics', '/v1/traces']);
    const bodyOf = (path: string): string => received.find((each) => each.path === path)!.body;
    for (const text of ['the last thing it did', 'tollgate-probe', 'replica-7', 'staging']) expect(bodyOf('/v1/traces')).toContain(text);
    for (const text of ['the last count', 'tollgate-probe', 'replica-7', 'staging']) expect(bodyOf('/v1/metrics')).toContain(text);
  });

  it('sends spans in batches of the configured size, and drops those for which the queue has no room', async () => {
    const messages: string[] = [];
    const collector = createServer(async (request, response) => {
      messages.push(await textOf(request));
      response.end('{}');
    });
    const otel = otelOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await listen(collector)}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_MAX_QUEUE_SIZE: '3',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
    });
    const telemetry = await startTelemetry({ ...common, otel, metricsListen: undefined });
    const tracer = trace.getTracer('test');
    // The first two are being sent when the others end.
    for (const name of ['one', 'two', 'three', 'four', 'five', 'dropped']) tracer.startSpan(name).end();
    await untilTrue(() => messages.length === 3);
    await telemetry.stop();
    collector.close();
    const namesIn = (message: string): string[] =>
      [...message.matchAll(/"name":"(one|two|three|four|five|dropped)"/g)].map(([, name]) => name!);
    expect(messages.map(namesIn)).toEqual([['one', 'two'], ['three', 'four'], ['five']]);
  });

  it('serves metrics to Prometheus in its text format', async () => {
    const telemetry = await startTelemetry({ ...common, metricsListen: '127.0.0.1:0' });
    const address = String(lines.findLast(({ msg }) => msg === 'serving metrics')!['address']);
    probes.of({ outcome: 'a "quoted" one' }).add(2);
    for (const seconds of [0.05, 0.5, 0.5, 7]) duration.of({ 'http.route': '/x' }).record(seconds);
    let reads = 0;
    const end = observe(async () => [depth.at((reads += 4))]);
    const scrape = async (): Promise<string[]> => (await (await fetch(`http://${address}/metrics`)).text()).split('\n');
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^target_info\{.*service_name="tollgate-probe",.*service_instance_id="replica-7"/),
        '# HELP tollgate_probe_calls_total Calls.\\nAll of them.',
        '# TYPE tollgate_probe_calls_total counter',
        'tollgate_probe_calls_total{outcome="a \\"quoted\\" one"} 2',
        '# TYPE probe_duration_seconds histogram',
        'probe_duration_seconds_bucket{http_route="/x",le="0.1"} 1',
        'probe_duration_seconds_bucket{http_route="/x",le="1"} 3',
        'probe_duration_seconds_bucket{http_route="/x",le="+Inf"} 4',
        'probe_duration_seconds_sum{http_route="/x"} 8.05',
        'probe_duration_seconds_count{http_route="/x"} 4',
        'probe_depth 4',
      ]),
    );
    end();
    await scrape();
    expect(reads).toBe(4);
    expect((await fetch(`http://${address}/`)).status).toBe(404);
    await telemetry.stop();
    await expect(fetch(`http://${address}/metrics`)).rejects.toThrow();
  });

  it('does not start when metrics cannot be served', async () => {
    const wrong = await failureOf(startTelemetry({ ...common, metricsListen: '9464' }));
    expect(wrong).toMatchObject({ reason: 'failed_precondition', message: expect.stringContaining('host:port') });
  });

  it('records nothing without an endpoint', async () => {
    const telemetry = await startTelemetry({ ...common, metricsListen: undefined });
    expect(trace.getTracer('test').startSpan('nothing').isRecording()).toBe(false);
    await telemetry.stop();
  });
});
