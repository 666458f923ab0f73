// Serves metrics as text for Prometheus, on a separate address. https://prometheus.io/docs/instrumenting/exposition_formats/ and
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Attributes } from '@opentelemetry/api';
import { DataPointType, type MetricData, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { AppError } from '#client/errors/app-error.js';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
const connectionsMax = 20;
const requestTimeoutMs = 10_000;

/** A running server of GET /metrics. */
export interface MetricsServer {
  /** "127.0.0.1:9464" */
  readonly address: string;
  stop(): Promise<void>;
}

/** Serves the metrics that `collect` returns, at "host:port". Raises failed_precondition when it cannot listen there. */
export async function serveMetrics(listen: string, collect: () => Promise<ResourceMetrics>): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end('Only GET /metrics is here.\n');
      return;
    }
    collect().then(
      (collected) => response.writeHead(200, { 'content-type': contentType }).end(metricsText(collected)),
      () => response.writeHead(500).end('The metrics could not be collected.\n'),
    );
  });
  server.maxConnections = connectionsMax;
  await listening(server, listen);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    address: family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, listen: string): Promise<void> {
  const [, host, port] = /^\[?(.*?)\]?:(\d{1,5})$/.exec(listen) ?? [];
  if (host === undefined || host === '')
    throw new AppError('failed_precondition', `"${listen}" is no address to show metrics at; write host:port, such as 127.0.0.1:9464.`);
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(new AppError('failed_precondition', `Metrics cannot be shown at ${listen}: ${error.message}.`, { cause: error })),
    );
    server.listen(Number(port), host, () => resolve());
  });
}

/** Returns the text of all metrics, each series once. */
export function metricsText({ resource, scopeMetrics }: ResourceMetrics): string {
  const target = `# TYPE target_info gauge\ntarget_info${labels(resource.attributes as Attributes)} 1\n`;
  return (
    target +
    scopeMetrics
      .flatMap((scope) => scope.metrics)
      .map(textOf)
      .join('')
  );
}

function textOf(metric: MetricData): string {
  const isCounter = metric.dataPointType === DataPointType.SUM && metric.isMonotonic;
  const name = nameOf(metric, isCounter);
  const type = isCounter ? 'counter' : metric.dataPointType === DataPointType.HISTOGRAM ? 'histogram' : 'gauge';
  const help = metric.descriptor.description.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${linesOf(metric, name).join('\n')}\n`;
}

function linesOf(metric: MetricData, name: string): string[] {
  switch (metric.dataPointType) {
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => `${name}${labels(attributes)} ${value}`);
    case DataPointType.HISTOGRAM:
      return metric.dataPoints.flatMap(({ attributes, value: { buckets, count, sum = 0 } }) => {
        let below = 0;
        const lines = buckets.boundaries.map((boundary, index) => {
          below += buckets.counts[index]!;
          return `${name}_bucket${labels({ ...attributes, le: String(boundary) })} ${below}`;
        });
        return [
          ...lines,
          `${name}_bucket${labels({ ...attributes, le: '+Inf' })} ${count}`,
          `${name}_sum${labels(attributes)} ${sum}`,
          `${name}_count${labels(attributes)} ${count}`,
        ];
      });
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      // We use none of these.
      return [];
  }
}

/**
 * Converts "http.server.request.duration" in "s" to http_server_request_duration_seconds. Units in braces are annotations and are dropped.
 */
function nameOf({ descriptor }: MetricData, isCounter: boolean): string {
  const unit = descriptor.unit === 's' ? '_seconds' : descriptor.unit === 'By' ? '_bytes' : '';
  return `${descriptor.name.replaceAll(/[^a-zA-Z0-9_]/g, '_')}${unit}${isCounter ? '_total' : ''}`;
}

function labels(attributes: Attributes): string {
  const pairs = Object.entries(attributes).map(([name, value]) => {
    const text = String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    return `${name.replaceAll(/[^a-zA-Z0-9_]/g, '_')}="${text}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
