// Turns telemetry on for a process. Traces use the OpenTelemetry API, which does nothing until the SDK is started here; metrics are counted
// anyway (metrics.ts). Without a receiver and without an address for Prometheus, the SDK is not loaded.
import { otlpTargetOf, type Signal } from '../config/otel/settings.js';
import { collectMetrics, mergeMetrics, type MetricSnapshot } from './metrics.js';
import { observeRuntime } from './runtime-metrics.js';
import type { Telemetry, TelemetryOptions } from './sdk.js';

/** The telemetry of a process. */
export interface ProcessTelemetry extends Telemetry {
  /** Adds the metrics of other threads to those of this process. */
  addSource(source: () => Promise<readonly MetricSnapshot[]>): void;
}

/** Options of the telemetry of a process or a thread. */
export interface ProcessTelemetryOptions extends TelemetryOptions {
  /** How often metrics are sent. */
  readonly metricsIntervalMs: number;
  /** host:port where Prometheus can scrape GET /metrics; absent: not served. */
  readonly metricsListen: string | undefined;
}

/** Starts what is configured. Raises failed_precondition when it cannot listen on `metricsListen`. */
export async function startTelemetry(options: ProcessTelemetryOptions): Promise<ProcessTelemetry> {
  const { otel, metricsListen, metricsIntervalMs, log } = options;
  if (isOff(options)) return { stop: async () => {}, addSource: () => undefined };
  const { endWithin, resourceOf } = await import('./sdk.js');
  const started = await startSignals(options);
  const sources: (() => Promise<readonly MetricSnapshot[]>)[] = [collectMetrics];
  if (hasMetrics(options)) {
    const { exportMetrics } = await import('./metrics-export.js');
    const collect = async (): Promise<MetricSnapshot[]> => mergeMetrics(await Promise.all(sources.map((source) => source())));
    const target = otlpTargetOf('metrics', otel);
    const exported = await exportMetrics(
      { target, exportIntervalMs: metricsIntervalMs, listen: metricsListen, collect },
      resourceOf(options),
    );
    if (exported.address !== undefined) log.info({ address: exported.address }, 'serving metrics');
    const endRuntime = observeRuntime('main', log);
    started.push({ stop: () => exported.stop().finally(endRuntime) });
  }
  return {
    stop: () => endWithin(Promise.all(started.map((each) => each.stop()))),
    addSource: (source) => void sources.push(source),
  };
}

/** Starts the telemetry of a thread of this name; the main thread sends its metrics with those of the process. */
export async function startThreadTelemetry(thread: string, options: ProcessTelemetryOptions): Promise<Telemetry> {
  if (isOff(options)) return { stop: async () => {} };
  const { endWithin } = await import('./sdk.js');
  const started = await startSignals(options);
  if (hasMetrics(options)) {
    const endRuntime = observeRuntime(thread, options.log);
    started.push({ stop: async () => endRuntime() });
  }
  return { stop: () => endWithin(Promise.all(started.map((each) => each.stop()))) };
}

function isSent(signal: Signal, { otel }: ProcessTelemetryOptions): boolean {
  return otlpTargetOf(signal, otel) !== undefined;
}

function hasMetrics(options: ProcessTelemetryOptions): boolean {
  return options.metricsListen !== undefined || isSent('metrics', options);
}

function isOff(options: ProcessTelemetryOptions): boolean {
  return options.otel.otelDisabled || !(hasMetrics(options) || isSent('traces', options) || isSent('logs', options));
}

/** Starts traces and logs. */
async function startSignals(options: ProcessTelemetryOptions): Promise<Telemetry[]> {
  const { otel, log } = options;
  const { resourceOf, startTraces, logFaults } = await import('./sdk.js');
  logFaults(log);
  const started: Telemetry[] = [startTraces(options)];
  const logs = otlpTargetOf('logs', otel);
  if (logs !== undefined) {
    const { startLogs } = await import('./logs-export.js');
    started.push(startLogs(logs, otel, resourceOf(options)));
  }
  return started;
}
