// Turns telemetry on for a process. All code uses the OpenTelemetry API, which does nothing until the SDK is started here;
// without an endpoint and without an address for Prometheus, the SDK is not even loaded.
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
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
 * Starts what is configured. The sampler, headers and batch limits come from the OTEL_… environment. Raises failed_precondition when it
 * cannot listen on `metricsListen`.
 */
export async function startTelemetry(
  options: TelemetryOptions & {
    /** Base url of an OTLP/HTTP receiver, for example http://localhost:4318; absent: nothing is sent. */
    otlpEndpoint: string | undefined;
    /** How often metrics are sent there. */
    metricsIntervalMs: number;
    /** host:port where Prometheus can scrape GET /metrics; absent: not served. */
    metricsListen: string | undefined;
    /** Whether another thread collects the metrics of this one. */
    isCollected?: boolean;
  },
): Promise<ProcessTelemetry> {
  const { otlpEndpoint, metricsListen, isCollected = false, log } = options;
  if (otlpEndpoint === undefined && metricsListen === undefined && !isCollected)
    return { stop: async () => {}, collect: async () => [], addSource: () => undefined };
  const { endWithin, resourceOf, startSdk, tellFaults } = await import('./sdk.js');
  const { startMetrics } = await import('./metrics-export.js');
  tellFaults(log);
  const started: Telemetry[] = [];
  const sources: (() => Promise<ScopeMetrics[]>)[] = [];
  if (otlpEndpoint !== undefined) started.push(startSdk(options, otlpEndpoint));
  const metrics = startMetrics({ otlpEndpoint, exportIntervalMs: options.metricsIntervalMs }, resourceOf(options));
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
