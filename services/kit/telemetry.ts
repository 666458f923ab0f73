// Turns tracing on for a process. Code everywhere uses the OpenTelemetry API, which does nothing until the SDK is started here;
// without an endpoint the SDK is not even loaded.
import type { Logger } from './log.js';

/** Options of `startTelemetry`. */
export interface TelemetryOptions {
  /** service.name of every span, for example "tollgate-ledger". */
  serviceName: string;
  /** Tells replicas apart: service.instance.id. */
  instanceId: string;
  /** Base url of an OTLP/HTTP receiver, for example http://localhost:4318; absent: no tracing. */
  otlpEndpoint: string | undefined;
  log: Logger;
}

/** Running telemetry. */
export interface Telemetry {
  /** Sends what is buffered, then ends. */
  stop(): Promise<void>;
}

/** Starts tracing when an endpoint is given. The sampler, headers and batch limits are those of the OTEL_… environment. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  if (options.otlpEndpoint === undefined) return { stop: async () => {} };
  const { startSdk } = await import('./telemetry-sdk.js');
  return startSdk({ ...options, otlpEndpoint: options.otlpEndpoint });
}
