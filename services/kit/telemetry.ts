// Turns tracing on for a process. Code everywhere uses the OpenTelemetry API, which does nothing until the SDK is started here;
// without an endpoint the SDK is not even loaded.
import type { Telemetry, TelemetryOptions } from './telemetry-sdk.js';

/** Starts tracing when an endpoint is given. The sampler, headers and batch limits are those of the OTEL_… environment. */
export async function startTelemetry(options: TelemetryOptions & {
  /** Base url of an OTLP/HTTP receiver, for example http://localhost:4318; absent: no tracing. */
  otlpEndpoint: string | undefined;
}): Promise<Telemetry> {
  if (options.otlpEndpoint === undefined) return { stop: async () => {} };
  const { startSdk } = await import('./telemetry-sdk.js');
  return startSdk(options, options.otlpEndpoint);
}
