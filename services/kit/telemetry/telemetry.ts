// Turns telemetry on for a process. All code uses the OpenTelemetry API, which does nothing until the SDK is started here;
// without a receiver and without an address for Prometheus, the SDK is not even loaded.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
import { otlpTargetOf } from '../config/otel/settings.js';
import type { Telemetry, TelemetryOptions } from './sdk.js';

export type { ScopeMetrics };

/** The telemetry of a process or a thread. */
export interface ProcessTelemetry extends Telemetry {
  /** Returns the metrics of this thread; none if they are not collected. */
  collect(): Promise<ScopeMetrics[]>;
  /** Adds metrics to those that are served to Prometheus, such as those of other threads. */
  addSource(source: () => Promise<ScopeMetrics[]>): void;
}

/**
 * Starts what is configured. Raises failed_precondition when it cannot listen on `metricsListen`.
 */
export async function startTelemetry(
  options: TelemetryOptions & {
    /** How often metrics are sent. */
    metricsIntervalMs: number;
    /** host:port where Prometheus can scrape GET /metrics; absent: not served. */
    metricsListen: string | undefined;
    /** Whether another thread collects the metrics of this one. */
    isCollected?: boolean;
  },
): Promise<ProcessTelemetry> {
  const { otel, metricsListen, isCollected = false, log } = options;
  const [logs, metricsTarget] = [otlpTargetOf('logs', otel), otlpTargetOf('metrics', otel)];
  const isSent = [otlpTargetOf('traces', otel), metricsTarget, logs].some((target) => target !== undefined);
  if (otel.otelDisabled || (!isSent && metricsListen === undefined && !isCollected))
    return { stop: async () => {}, collect: async () => [], addSource: () => undefined };
  const { endWithin, resourceOf, startTraces, tellFaults } = await import('./sdk.js');
  const { startMetrics } = await import('./metrics-export.js');
  tellFaults(log);
  const started: Telemetry[] = [];
  const sources: (() => Promise<ScopeMetrics[]>)[] = [];
  started.push(startTraces(options));
  if (logs !== undefined) {
    const { startLogs } = await import('./logs-export.js');
    started.push(startLogs(logs, otel, resourceOf(options)));
  }
  const metrics = startMetrics({ target: metricsTarget, exportIntervalMs: options.metricsIntervalMs }, resourceOf(options));
  started.push(metrics);
  if (metricsListen !== undefined) {
    const { serveMetrics } = await import('./prometheus.js');
    const { sumMetrics } = await import('./sum-metrics.js');
    const server = await serveMetrics(metricsListen, async () => {
      const [own, ...others] = await Promise.all([metrics.collect(), ...sources.map((source) => source())]);
      return others.length === 0 ? own : { ...own, scopeMetrics: sumMetrics([own.scopeMetrics, ...others]) };
    });
    log.info({ address: server.address }, 'showing metrics');
    started.push(server);
  }
  return {
    stop: () => endWithin(Promise.all(started.map((each) => each.stop()))),
    collect: async () => (await metrics.collect()).scopeMetrics,
    addSource: (source) => void sources.push(source),
  };
}
