import { expect, it } from '@jest/globals';
import type { MeterProvider, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { metrics } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { startMetrics } from './metrics-export.js';
import { metricsText } from './prometheus.js';
import { countersOf, sumMetrics } from './sum-metrics.js';

/** Returns the metrics of a thread that has served requests of these durations, in seconds, and has calls in flight. */
async function threadWith(seconds: readonly number[], inFlight: number): Promise<ScopeMetrics[]> {
  const running = startMetrics({ target: undefined, exportIntervalMs: 60_000 }, resourceFromAttributes({}));
  const meter = (metrics.getMeterProvider() as MeterProvider).getMeter('test');
  const histogram = meter.createHistogram('request.duration', { unit: 's', advice: { explicitBucketBoundaries: [1] } });
  const counter = meter.createCounter('requests');
  for (const each of seconds) {
    histogram.record(each, { route: '/x' });
    counter.add(1, { route: '/x', slow: each > 1 });
  }
  meter.createObservableGauge('in.flight').addCallback((result) => result.observe(inFlight));
  const { scopeMetrics } = await running.collect();
  await running.stop();
  // As they arrive from another thread.
  return structuredClone(scopeMetrics);
}

const linesOf = (scopeMetrics: ScopeMetrics[]): string[] =>
  metricsText({ resource: resourceFromAttributes({}), scopeMetrics })
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('target_info'));

it('sums counters, histograms and gauges of threads by their attributes, and keeps the counters of a thread that has ended', async () => {
  const one = await threadWith([0.5, 2], 3);
  const other = await threadWith([0.25], 4);
  const ended = countersOf(await threadWith([4], 9));
  expect(linesOf(sumMetrics([one, other, ended]))).toEqual([
    'request_duration_seconds_bucket{route="/x",le="1"} 2',
    'request_duration_seconds_bucket{route="/x",le="+Inf"} 4',
    'request_duration_seconds_sum{route="/x"} 6.75',
    'request_duration_seconds_count{route="/x"} 4',
    'requests_total{route="/x",slow="false"} 2',
    'requests_total{route="/x",slow="true"} 2',
    'in_flight 7',
  ]);
});
