import { expect, it } from '@jest/globals';
import { collectMetrics, counter, countersOf, gauge, histogram, mergeMetrics, type MetricSnapshot, observe } from './metrics.js';

// Not a part of docs/metrics.md, although tests share a process.
const text = { description: 'A test.', by: 'tests' };
const requests = counter({ name: 'test.requests', unit: '{request}', labels: { route: 'The route.', slow: 'true or false' }, ...text });
const durations = histogram({ name: 'test.duration', unit: 's', labels: { route: 'The route.' }, ...text }, [0.1, 1]);
const inFlight = gauge({ name: 'test.in_flight', unit: '{request}', ...text });
const oldest = gauge({ name: 'test.oldest_age', unit: 's', ...text }, 'max');
const left = gauge({ name: 'test.left', unit: 's', ...text }, 'min');

/** Returns the series of the metrics of this file, by name and labels. */
function seriesOf(metrics: readonly MetricSnapshot[]): Record<string, unknown> {
  const named = metrics.filter(({ name }) => name.startsWith('test.'));
  return Object.fromEntries(
    named.flatMap(({ name, series }) => series.map(({ labels, value }) => [[name, ...Object.values(labels)].join(' '), value])),
  );
}

it('sums counters, histograms and gauges of threads, and takes the highest age and the lowest remaining amount', async () => {
  for (const seconds of [0.5, 2]) {
    durations.of({ route: '/x' }).record(seconds);
    requests.count({ route: '/x', slow: String(seconds > 1) });
  }
  const end = observe(() => [inFlight.at(3), oldest.at(7), left.at(100)]);
  // As it arrives from another thread.
  const one = structuredClone(await collectMetrics());
  end();
  durations.of({ route: '/x' }).record(0.1);
  const endSecond = observe(() => [inFlight.at(4), oldest.at(2), left.at(50)]);
  const other = structuredClone(await collectMetrics());
  endSecond();
  expect(seriesOf(mergeMetrics([one, other]))).toEqual({
    'test.requests /x true': 2,
    'test.requests /x false': 2,
    'test.duration /x': { counts: [1, 2, 2], sum: 5.1, count: 5 },
    'test.in_flight': 7,
    'test.oldest_age': 7,
    'test.left': 50,
  });
  // Of a thread that has ended, only what it counted remains.
  expect(Object.keys(seriesOf(countersOf(other)))).toEqual(['test.requests /x false', 'test.requests /x true', 'test.duration /x']);
});

it('collects the other metrics when a gauge cannot be read', async () => {
  const endBroken = observe(() => Promise.reject(new Error('no database')));
  const end = observe(() => [inFlight.at(1)]);
  expect(seriesOf(await collectMetrics())).toMatchObject({ 'test.in_flight': 1 });
  end();
  endBroken();
  expect(seriesOf(await collectMetrics())).not.toHaveProperty('test.in_flight');
});

it('counts further label values together when a metric has 2,000 series', async () => {
  const many = counter({ name: 'test.many', unit: '', labels: { id: 'Any.' }, ...text });
  for (let id = 0; id < 2500; id += 1) many.count({ id: String(id) });
  const { series } = (await collectMetrics()).find(({ name }) => name === 'test.many')!;
  expect(series).toHaveLength(2001);
  expect(series.at(-1)).toEqual({ labels: { 'otel.metric.overflow': 'true' }, value: 500 });
});
