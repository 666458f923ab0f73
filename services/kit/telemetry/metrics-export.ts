// The OpenTelemetry SDK for metrics: sent over OTLP/HTTP, or shown as text to whoever scrapes. Loaded by telemetry.ts when either is wanted.
import { metrics } from '@opentelemetry/api';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { JsonMetricsSerializer, MetricsExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import {
  MeterProvider,
  MetricReader,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Telemetry } from './sdk.js';

/** Where metrics go. */
export interface MetricsOptions {
  /** Base url of an OTLP/HTTP receiver; absent: nowhere. */
  readonly otlpEndpoint: string | undefined;
  readonly exportIntervalMs: number;
}

/** Running metrics. */
export interface Metrics extends Telemetry {
  /** All instruments as they are now. */
  collect(): Promise<ResourceMetrics>;
}

/** Registers a meter provider globally. */
export function startMetrics(options: MetricsOptions, resource: Resource): Metrics {
  const scraped = new ScrapedReader();
  const readers: MetricReader[] = [scraped];
  if (options.otlpEndpoint !== undefined) {
    const { exportIntervalMs } = options;
    readers.push(
      new PeriodicExportingMetricReader({
        exporter: otlpExporter(options.otlpEndpoint),
        exportIntervalMillis: exportIntervalMs,
        exportTimeoutMillis: Math.min(exportIntervalMs, 10_000),
      }),
    );
  }
  const provider = new MeterProvider({ resource, readers });
  metrics.setGlobalMeterProvider(provider);
  return {
    collect: async () => (await scraped.collect()).resourceMetrics,
    async stop() {
      await provider.shutdown();
      metrics.disable();
    },
  };
}

/** Gives what it collects to whoever asks. */
class ScrapedReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

// The exporter's own package is this and choices that we do not make (temporality is cumulative, as Prometheus has it).
function otlpExporter(otlpEndpoint: string): PushMetricExporter {
  const http = convertLegacyHttpOptions({ url: `${otlpEndpoint.replace(/\/$/, '')}/v1/metrics` }, 'METRICS', 'v1/metrics', {
    'Content-Type': 'application/json',
  });
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(http, JsonMetricsSerializer, 'otlp_http_metric_exporter', MetricsExporterMetricsHelper, undefined),
  );
}
