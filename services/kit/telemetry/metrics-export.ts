// The OpenTelemetry SDK for metrics: sent over OTLP/HTTP, or served as text to a scraper. telemetry.ts loads it when either is configured.
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
  /** Returns the current values of all instruments. */
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

/** A reader that returns the metrics on request. */
class ScrapedReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

// The exporter's own package adds only options that we do not need (temporality is cumulative, as in Prometheus).
function otlpExporter(otlpEndpoint: string): PushMetricExporter {
  const http = convertLegacyHttpOptions({ url: `${otlpEndpoint.replace(/\/$/, '')}/v1/metrics` }, 'METRICS', 'v1/metrics', {
    'Content-Type': 'application/json',
  });
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(http, JsonMetricsSerializer, 'otlp_http_metric_exporter', MetricsExporterMetricsHelper, undefined),
  );
}
