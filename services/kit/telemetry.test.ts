// What a collector receives, and what a process without one pays.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { startTelemetry } from './telemetry.js';
import { recordingLogger } from './testing/log.js';

const { log } = recordingLogger();

describe('telemetry', () => {
  it('sends what is buffered when it stops', async () => {
    const received: { path: string | undefined; body: string }[] = [];
    const collector = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ path: request.url, body });
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const otlpEndpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`;
    const telemetry = await startTelemetry({ serviceName: 'tollgate-probe', instanceId: 'replica-7', otlpEndpoint, log });
    trace.getTracer('test').startSpan('the last thing it did').end();
    await telemetry.stop();
    collector.close();
    expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
    for (const text of ['the last thing it did', 'tollgate-probe', 'replica-7']) expect(received[0]!.body).toContain(text);
  });

  it('without an endpoint records nothing', async () => {
    const telemetry = await startTelemetry({ serviceName: 'tollgate-probe', instanceId: '1', otlpEndpoint: undefined, log });
    expect(trace.getTracer('test').startSpan('nothing').isRecording()).toBe(false);
    await telemetry.stop();
  });
});
