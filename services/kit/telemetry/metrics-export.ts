// The OpenTelemetry SDK for metrics: sent over OTLP/HTTP, or served as text to a scraper. telemetry.ts loads it when either is configured.
import { metrics } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { MeterProvider, MetricReader, PeriodicExportingMetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { metricExporter, type OtlpTarget } from './otlp.js';
import type { Telemetry } from './sdk.js';

/** Where metrics go. */
export interface MetricsOptions {
  /** An OTLP/HTTP receiver; absent: nowhere. */
  readonly target: OtlpTarget | undefined;
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
  const { target, exportIntervalMs } = options;
  if (target !== undefined) {
    readers.push(
      new PeriodicExportingMetricReader({
        exporter: metricExporter(target),
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
