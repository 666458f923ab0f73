// Serves metrics to Prometheus on a separate address. OpenTelemetry's exporter writes the text but omits the unit suffixes of names, which
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/ requires and dashboards expect.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { CollectionResult, MetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import { AppError } from '#client/errors/app-error.js';
import type { Definition, Kind } from './metrics.js';

const connectionsMax = 20;
const requestTimeoutMs = 10_000;

/** A running server of GET /metrics. */
export interface MetricsServer {
  /** "127.0.0.1:9464" */
  readonly address: string;
  stop(): Promise<void>;
}

/** A reader that answers requests with the metrics. */
export class PrometheusReader extends PrometheusExporter {
  constructor(producer: MetricProducer) {
    super({ preventServerStart: true, withoutScopeInfo: true, metricProducers: [producer] });
  }

  override async collect(): Promise<CollectionResult> {
    const { resourceMetrics, errors } = await super.collect();
    const scopeMetrics = resourceMetrics.scopeMetrics.map(({ scope, metrics }) => ({ scope, metrics: metrics.map(named) }));
    return { resourceMetrics: { ...resourceMetrics, scopeMetrics }, errors };
  }
}

/** Converts "http.server.request.duration" in "s" to http_server_request_duration_seconds. Units in braces are annotations and are dropped. */
function withUnit({ name, unit }: { readonly name: string; readonly unit: string }): string {
  const suffix = unit === 's' ? '_seconds' : unit === 'By' ? '_bytes' : unit === '1' ? '_ratio' : '';
  return `${name.replaceAll('.', '_')}${suffix}`;
}

function named(metric: MetricData): MetricData {
  return { ...metric, descriptor: { ...metric.descriptor, name: withUnit(metric.descriptor), unit: '' } };
}

/** Returns the name of a metric in Prometheus. */
export function prometheusName(definition: Definition, kind: Kind): string {
  return `${withUnit(definition)}${kind === 'counter' ? '_total' : ''}`;
}

/** Serves the metrics of this reader, at "host:port". Raises failed_precondition when it cannot listen there. */
export async function serveMetrics(listen: string, reader: PrometheusReader): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    if (request.method === 'GET' && request.url?.split('?')[0] === '/metrics') reader.getMetricsRequestHandler(request, response);
    else response.writeHead(404).end('Only GET /metrics is served here.\n');
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
    throw new AppError('failed_precondition', `"${listen}" is not a valid address for metrics; use host:port, such as 127.0.0.1:9464.`);
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(new AppError('failed_precondition', `Metrics cannot be served at ${listen}: ${error.message}.`)),
    );
    server.listen(Number(port), host, () => resolve());
  });
}
