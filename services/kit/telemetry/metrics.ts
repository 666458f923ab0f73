// Gauges that are read only when metrics are collected. Counters and histograms are the API's own. Instruments
// must be created after the process has started its telemetry (process.ts), never when a module is loaded: unlike tracers, meters
// that were obtained earlier have no effect.
import { type Attributes, metrics, type ObservableGauge } from '@opentelemetry/api';
import type { Logger } from '../log.js';

/** The name and description of a gauge. */
export interface Gauge {
  /** For example "tollgate.outbox.pending". */
  readonly name: string;
  readonly description: string;
  /** In OpenTelemetry's notation: "s", "{call}". */
  readonly unit: string;
}

/** One value of a gauge. */
export interface Reading {
  readonly name: string;
  readonly value: number;
  /** Few attributes with few values: never an account, a key or a call. */
  readonly attributes?: Attributes;
}

/**
 * Registers the gauges of one part. `read` is called at each collection; when it throws, the gauges keep their values. Returns a function
 * that unregisters them.
 */
export function observeGauges(
  scope: string,
  gauges: readonly Gauge[],
  read: () => Promise<readonly Reading[]> | readonly Reading[],
  log: Logger,
): () => void {
  const meter = metrics.getMeter(scope);
  const instruments = new Map<string, ObservableGauge>(
    gauges.map(({ name, description, unit }) => [name, meter.createObservableGauge(name, { description, unit })]),
  );
  const observe = async (result: { observe(gauge: ObservableGauge, value: number, attributes?: Attributes): void }): Promise<void> => {
    try {
      for (const { name, value, attributes } of await read()) result.observe(instruments.get(name)!, value, attributes);
    } catch (error) {
      log.debug({ err: error, scope }, 'gauges could not be read');
    }
  };
  meter.addBatchObservableCallback(observe, [...instruments.values()]);
  return () => meter.removeBatchObservableCallback(observe, [...instruments.values()]);
}
