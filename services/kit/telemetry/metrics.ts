// The metrics of a thread. Counters and histograms are plain numbers that are read when metrics are collected, because the OpenTelemetry API would
// sort and serialize the labels of every count; gauges are read by the observers of their parts. Every metric is defined where it is counted,
// once: docs/metrics.md is generated from the definitions, and metrics-export.ts sends what `collectMetrics` returns.
import type { Logger } from '../log.js';

/** What a metric measures. */
export interface Definition<L extends string = string> {
  /** For example "tollgate.calls"; the name of the OpenTelemetry semantic conventions where they have one. */
  readonly name: string;
  /** In UCUM: "s", "By", "1", or in braces what is counted: "{call}". */
  readonly unit: string;
  readonly description: string;
  /** What reports it: a section of docs/metrics.md, such as "process". */
  readonly by: string;
  /** Each label with its meaning. A label has few values: never an account, a key or a call. An empty value is not exported. */
  readonly labels?: Readonly<Record<L, string>>;
}

/** How the gauges of several threads become one. */
export type Across = 'sum' | 'max' | 'min';

export type Kind = 'counter' | 'gauge' | 'histogram';

/** What a histogram has counted. */
export interface Distribution {
  /** One more than boundaries: the last one counts what is above all of them. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

export type LabelValues = Readonly<Record<string, string>>;

/** One series at the moment of a collection. */
export interface SeriesSnapshot {
  readonly labels: LabelValues;
  readonly value: number | Distribution;
}

/** A metric at the moment of a collection, as it also travels between threads. */
export interface MetricSnapshot {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly kind: Kind;
  readonly across: Across;
  /** The upper bounds of a histogram's buckets. */
  readonly boundaries: readonly number[];
  readonly series: readonly SeriesSnapshot[];
}

/** One value of a gauge, or of a counter that another part of the system keeps. */
export interface Reading {
  readonly metric: Metric;
  readonly labels: LabelValues;
  readonly value: number;
}

/** The labels of a series as an argument; none for a metric without labels. */
type With<L extends string> = [L] extends [never] ? [] : [labels: Readonly<Record<L, string>>];

/** Maximum number of series per metric, the same as in the OpenTelemetry SDK. */
const seriesMax = 2000;
const overflow: LabelValues = { 'otel.metric.overflow': 'true' };
const noLabels: LabelValues = {};
const observeMsMax = 2000;

const defined = new Map<string, Metric>();
const observers = new Set<() => Promise<readonly Reading[]>>();

/** A metric of this thread. */
export abstract class Metric<L extends string = string> {
  abstract readonly kind: Kind;
  readonly across: Across = 'sum';
  readonly boundaries: readonly number[] = [];
  readonly labelNames: readonly L[];

  constructor(readonly definition: Definition<L>) {
    this.labelNames = Object.keys(definition.labels ?? noLabels) as L[];
    if (defined.has(definition.name)) throw new Error(`The metric ${definition.name} is defined twice.`);
    defined.set(definition.name, this as unknown as Metric);
  }

  abstract series(): SeriesSnapshot[];
}

/** The series with the same values of the first labels. */
interface Branch<S> {
  series: S | undefined;
  readonly branches: Map<string, Branch<S>>;
}

/** A metric whose series are kept here. */
abstract class SeriesMetric<L extends string, S extends { readonly labels: LabelValues }> extends Metric<L> {
  readonly #all: S[] = [];
  readonly #root: Branch<S> = { series: undefined, branches: new Map() };
  #overflow: S | undefined;

  /** Returns the series with these labels. Keep it where that is simple: finding it costs more than counting. */
  of(...[labels]: With<L>): S {
    let node: Branch<S> | undefined = this.#root;
    for (const name of this.labelNames) {
      node = node.branches.get((labels as LabelValues)[name]!);
      if (node === undefined) break;
    }
    return node?.series ?? this.#create((labels ?? noLabels) as LabelValues);
  }

  protected abstract begin(labels: LabelValues): S;

  protected abstract read(series: S): number | Distribution;

  override series(): SeriesSnapshot[] {
    return [...this.#all, ...(this.#overflow === undefined ? [] : [this.#overflow])].map((series) => ({
      labels: series.labels,
      value: this.read(series),
    }));
  }

  #create(labels: LabelValues): S {
    if (this.#all.length >= seriesMax) return (this.#overflow ??= this.begin(overflow));
    let node = this.#root;
    for (const name of this.labelNames) {
      const next: Branch<S> = node.branches.get(labels[name]!) ?? { series: undefined, branches: new Map() };
      node.branches.set(labels[name]!, next);
      node = next;
    }
    node.series = this.begin(Object.fromEntries(this.labelNames.map((name) => [name, labels[name]!])));
    this.#all.push(node.series);
    return node.series;
  }
}

/** One series of a counter or a gauge. */
export class Count {
  value = 0;

  constructor(readonly labels: LabelValues) {}

  add(by = 1): void {
    this.value += by;
  }
}

/** A number that only grows. */
export class Counter<L extends string = never> extends SeriesMetric<L, Count> {
  readonly kind = 'counter';

  protected begin(labels: LabelValues): Count {
    return new Count(labels);
  }

  protected read({ value }: Count): number {
    return value;
  }

  /** Adds 1 to a series. */
  count(...labels: With<L>): void {
    this.of(...labels).value += 1;
  }

  /** Returns the value that another part of the system has counted. */
  at(value: number, ...[labels]: With<L>): Reading {
    return { metric: this as unknown as Metric, labels: labels ?? noLabels, value };
  }
}

/** One series of a histogram. */
export class Buckets {
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(
    readonly labels: LabelValues,
    private readonly boundaries: readonly number[],
  ) {
    this.counts = Array.from({ length: boundaries.length + 1 }, () => 0);
  }

  record(value: number): void {
    const { boundaries } = this;
    let index = 0;
    while (index < boundaries.length && value > boundaries[index]!) index += 1;
    this.counts[index]! += 1;
    this.sum += value;
    this.count += 1;
  }
}

/** A distribution of values. */
export class Histogram<L extends string = never> extends SeriesMetric<L, Buckets> {
  readonly kind = 'histogram';

  constructor(
    definition: Definition<L>,
    override readonly boundaries: readonly number[],
  ) {
    super(definition);
  }

  protected begin(labels: LabelValues): Buckets {
    return new Buckets(labels, this.boundaries);
  }

  protected read({ counts, sum, count }: Buckets): Distribution {
    return { counts: [...counts], sum, count };
  }
}

/** A value that goes up and down: kept here, or read by an observer when metrics are collected. */
export class Gauge<L extends string = never> extends SeriesMetric<L, Count> {
  readonly kind = 'gauge';

  constructor(
    definition: Definition<L>,
    override readonly across: Across = 'sum',
  ) {
    super(definition);
  }

  protected begin(labels: LabelValues): Count {
    return new Count(labels);
  }

  protected read({ value }: Count): number {
    return value;
  }

  /** Returns the value that an observer has read. */
  at(value: number, ...[labels]: With<L>): Reading {
    return { metric: this as unknown as Metric, labels: labels ?? noLabels, value };
  }
}

/** Defines a counter. Without labels it is exported as 0 from the start, so that its first increase can be seen. */
export function counter<L extends string = never>(definition: Definition<L>): Counter<L> {
  const created = new Counter(definition);
  if (created.labelNames.length === 0) (created as unknown as Counter).of();
  return created;
}

/** Defines a histogram with these upper bounds of its buckets. Without labels it is exported from the start. */
export function histogram<L extends string = never>(definition: Definition<L>, boundaries: readonly number[]): Histogram<L> {
  const created = new Histogram(definition, boundaries);
  if (created.labelNames.length === 0) (created as unknown as Histogram).of();
  return created;
}

/** Defines a gauge. */
export function gauge<L extends string = never>(definition: Definition<L>, across: Across = 'sum'): Gauge<L> {
  return new Gauge(definition, across);
}

/**
 * Reads gauges at each collection. When `read` throws or takes longer than two seconds, they are missing from that collection. Returns a function that
 * stops this.
 */
export function observe(read: () => Promise<readonly Reading[]> | readonly Reading[], log?: Pick<Logger, 'debug'>): () => void {
  const observer = async (): Promise<readonly Reading[]> => {
    let timer: NodeJS.Timeout | undefined;
    try {
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error('The gauges took too long to read.')), observeMsMax).unref();
      });
      return await Promise.race([read(), late]);
    } catch (error) {
      log?.debug({ err: error }, 'gauges could not be read');
      return [];
    } finally {
      clearTimeout(timer);
    }
  };
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Returns the definitions of all metrics of this program, by name. */
export function definedMetrics(): Metric[] {
  return [...defined.values()];
}

/** Returns the current values of all metrics of this thread; metrics without a series are left out. */
export async function collectMetrics(): Promise<MetricSnapshot[]> {
  const readings = (await Promise.all([...observers].map((read) => read()))).flat();
  const snapshots = [...defined.values()].map((metric) => {
    const { definition, kind, across, boundaries } = metric;
    const { name, unit, description } = definition;
    const read = readings.filter((reading) => reading.metric === metric).map(({ labels, value }) => ({ labels, value }));
    return { name, unit, description, kind, across, boundaries, series: [...metric.series(), ...read] };
  });
  return mergeMetrics([snapshots]).filter(({ series }) => series.length > 0);
}

/** Returns each metric once, with one series for the series that have the same labels. */
export function mergeMetrics(parts: readonly (readonly MetricSnapshot[])[]): MetricSnapshot[] {
  const merged = new Map<string, { readonly metric: MetricSnapshot; readonly series: Map<string, SeriesSnapshot> }>();
  for (const metric of parts.flat()) {
    const into = merged.get(metric.name) ?? { metric, series: new Map<string, SeriesSnapshot>() };
    merged.set(metric.name, into);
    for (const series of metric.series) {
      const key = JSON.stringify(Object.entries(series.labels).toSorted(([one], [other]) => (one < other ? -1 : 1)));
      const known = into.series.get(key);
      into.series.set(key, known === undefined ? series : { ...series, value: together(known.value, series.value, metric.across) });
    }
  }
  return [...merged.values()].map(({ metric, series }) => ({ ...metric, series: [...series.values()] }));
}

/** Returns what remains of the metrics of a thread that has ended: counters never decrease, gauges are gone. */
export function countersOf(metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  return metrics.filter(({ kind }) => kind !== 'gauge');
}

function together(one: SeriesSnapshot['value'], other: SeriesSnapshot['value'], across: Across): SeriesSnapshot['value'] {
  if (typeof one === 'number') {
    const value = other as number;
    return across === 'sum' ? one + value : across === 'max' ? Math.max(one, value) : Math.min(one, value);
  }
  const { counts, sum, count } = other as Distribution;
  return { counts: one.counts.map((each, index) => each + (counts[index] ?? 0)), sum: one.sum + sum, count: one.count + count };
}
