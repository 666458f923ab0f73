// Sends the metrics of a process over OTLP/HTTP, or serves them as text to a scraper, with the OpenTelemetry SDK. telemetry.ts loads it when either is
// configured.
import { ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  type MetricReader,
  PeriodicExportingMetricReader,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Distribution, LabelValues, MetricSnapshot } from './metrics.js';
import { metricExporter, type OtlpTarget } from './otlp.js';
import type { Telemetry } from './sdk.js';

/** Where metrics go. */
export interface MetricsOptions {
  /** An OTLP/HTTP receiver; absent: nowhere. */
  readonly target: OtlpTarget | undefined;
  readonly exportIntervalMs: number;
  /** host:port where they are served to Prometheus; absent: not served. */
  readonly listen: string | undefined;
  /** Returns what is sent. */
  readonly collect: () => Promise<readonly MetricSnapshot[]>;
}

/** Running metrics. */
export interface MetricsExport extends Telemetry {
  /** Where they are served: "127.0.0.1:9464". */
  readonly address: string | undefined;
}

/** Starts to send and to serve metrics. Raises failed_precondition when it cannot listen at `listen`. */
export async function exportMetrics(options: MetricsOptions, resource: Resource): Promise<MetricsExport> {
  const { target, exportIntervalMs, listen, collect } = options;
  const readers: MetricReader[] = [];
  if (target !== undefined) {
    readers.push(
      new PeriodicExportingMetricReader({
        exporter: metricExporter(target),
        exportIntervalMillis: exportIntervalMs,
        exportTimeoutMillis: Math.min(exportIntervalMs, 10_000),
        metricProducers: [producerOf(collect, resource)],
      }),
    );
  }
  let server: { readonly address: string; stop(): Promise<void> } | undefined;
  if (listen !== undefined) {
    const { PrometheusReader, serveMetrics } = await import('./prometheus.js');
    const reader = new PrometheusReader(producerOf(collect, resource));
    readers.push(reader);
    server = await serveMetrics(listen, reader);
  }
  const provider = new MeterProvider({ resource, readers });
  return {
    address: server?.address,
    async stop() {
      await Promise.all([provider.shutdown(), server?.stop()]);
    },
  };
}

/** Returns a source of metrics for a reader of the SDK. */
function producerOf(collect: MetricsOptions['collect'], resource: Resource): MetricProducer {
  const startTime = hrTimeOf(Date.now());
  return {
    async collect() {
      const metrics = await collect();
      const scopeMetrics: ScopeMetrics[] = [{ scope: { name: 'tollgate' }, metrics: metrics.map((metric) => dataOf(metric, startTime)) }];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
}

type HrTime = [number, number];

function hrTimeOf(epochMs: number): HrTime {
  return [Math.trunc(epochMs / 1000), (epochMs % 1000) * 1_000_000];
}

function dataOf({ name, unit, description, kind, boundaries, series }: MetricSnapshot, startTime: HrTime): MetricData {
  const endTime = hrTimeOf(Date.now());
  const shared = {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const pointsOf = <T>(valueOf: (value: number | Distribution) => T) =>
    series.map(({ labels, value }) => ({ startTime, endTime, attributes: withoutEmpty(labels), value: valueOf(value) }));
  if (kind === 'histogram') {
    const dataPoints = pointsOf((value) => {
      const { counts, sum, count } = value as Distribution;
      return { buckets: { boundaries: [...boundaries], counts: [...counts] }, sum, count };
    });
    return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = pointsOf((value) => value as number);
  if (kind === 'gauge') return { ...shared, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function withoutEmpty(labels: LabelValues): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}
