// Turns telemetry on for a process. All code uses the OpenTelemetry API, which does nothing until the SDK is started here;
// without an endpoint and without an address for Prometheus, the SDK is not even loaded.
import type { Telemetry, TelemetryOptions } from './sdk.js';

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
  },
): Promise<Telemetry> {
  const { otlpEndpoint, metricsListen, log } = options;
  if (otlpEndpoint === undefined && metricsListen === undefined) return { stop: async () => {} };
  const { endWithin, resourceOf, startSdk, tellFaults } = await import('./sdk.js');
  const { startMetrics } = await import('./metrics-export.js');
  tellFaults(log);
  const started: Telemetry[] = [];
  if (otlpEndpoint !== undefined) started.push(startSdk(options, otlpEndpoint));
  const metrics = startMetrics({ otlpEndpoint, exportIntervalMs: options.metricsIntervalMs }, resourceOf(options));
  started.push(metrics);
  if (metricsListen !== undefined) {
    const { serveMetrics } = await import('./prometheus.js');
    const server = await serveMetrics(metricsListen, metrics.collect);
    log.info({ address: server.address }, 'showing metrics');
    started.push(server);
  }
  return { stop: () => endWithin(Promise.all(started.map((each) => each.stop()))) };
}
