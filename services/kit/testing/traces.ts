// Traces that are kept in memory, for tests.
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { otelSettings } from '../config/otel/settings.js';
import { parseSettings } from '../config/settings.js';
import { register } from '../telemetry/sdk.js';

/** The settings of telemetry in an environment, by default an empty one. */
export const otelOf = (env: Readonly<Record<string, string>> = {}) => parseSettings(otelSettings, env);

/** The traces of a test file. There can be one per process. */
export interface RecordedTraces {
  /** Returns the spans that have ended since the last reset. */
  spans(): ReadableSpan[];
  reset(): void;
  stop(): Promise<void>;
}

/** Starts to trace this process. */
export function recordTraces(env?: Readonly<Record<string, string>>): RecordedTraces {
  const exporter = new InMemorySpanExporter();
  const telemetry = register({ serviceName: 'test', instanceId: '1', otel: otelOf(env) }, new SimpleSpanProcessor({ exporter }));
  return { spans: () => exporter.getFinishedSpans(), reset: () => exporter.reset(), stop: () => telemetry.stop() };
}
