// Sums the metrics of several threads, each of which has counters of its own.
import type { Attributes } from '@opentelemetry/api';
import { type DataPoint, DataPointType, type Histogram, type MetricData, type ScopeMetrics } from '@opentelemetry/sdk-metrics';

/** Returns each metric once, with the sum of the values that have the same attributes. */
export function sumMetrics(parts: readonly (readonly ScopeMetrics[])[]): ScopeMetrics[] {
  const sums = new Map<string, MetricData>();
  for (const metric of parts.flat().flatMap((scope) => scope.metrics)) {
    const { name } = metric.descriptor;
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? metric : added(sum, metric));
  }
  return [{ scope: { name: 'tollgate' }, metrics: [...sums.values()] }];
}

/** Returns what remains of the metrics of a thread that has ended: counters never decrease, gauges are gone. */
export function countersOf(scopes: readonly ScopeMetrics[]): ScopeMetrics[] {
  return scopes.map(({ scope, metrics }) => ({
    scope,
    metrics: metrics.filter((metric) =>
      metric.dataPointType === DataPointType.SUM ? metric.isMonotonic : metric.dataPointType === DataPointType.HISTOGRAM,
    ),
  }));
}

function added(one: MetricData, other: MetricData): MetricData {
  if (one.dataPointType !== other.dataPointType) return one;
  const points = new Map<string, DataPoint<unknown>>();
  for (const point of [...one.dataPoints, ...other.dataPoints] as DataPoint<unknown>[]) {
    const key = keyOf(point.attributes);
    const sum = points.get(key);
    points.set(key, sum === undefined ? point : { ...sum, value: sumOf(sum.value, point.value) });
  }
  return { ...one, dataPoints: [...points.values()] } as MetricData;
}

function sumOf(one: unknown, other: unknown): unknown {
  if (typeof one === 'number') return one + (other as number);
  const [a, b] = [one as Histogram, other as Histogram];
  return {
    ...a,
    buckets: { ...a.buckets, counts: a.buckets.counts.map((count, index) => count + (b.buckets.counts[index] ?? 0)) },
    count: a.count + b.count,
    sum: (a.sum ?? 0) + (b.sum ?? 0),
  };
}

function keyOf(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
