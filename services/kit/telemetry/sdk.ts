// The OpenTelemetry SDK for traces (W3C context, batches over OTLP/HTTP), and what traces and metrics share. telemetry.ts loads it
// when tracing or metrics are configured.
import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../log.js';

/** The process that sends spans and metrics, and where export failures are logged. */
export interface TelemetryOptions {
  /** Their service.name, for example "tollgate-ledger". */
  serviceName: string;
  /** Distinguishes replicas: service.instance.id. */
  instanceId: string;
  log: Logger;
}

/** Running telemetry. */
export interface Telemetry {
  /** Sends what is buffered, then stops. */
  stop(): Promise<void>;
}

// A collector that hangs must not keep a process from ending.
const flushMsMax = 5000;

/** Registers the SDK globally, sending to the OTLP/HTTP receiver at this base url. */
export function startSdk(options: TelemetryOptions, otlpEndpoint: string): Telemetry {
  const exporter = new OTLPTraceExporter({ url: `${otlpEndpoint.replace(/\/$/, '')}/v1/traces` });
  return register(options, new BatchSpanProcessor(exporter));
}

/** Logs the SDK's own errors: without this an exporter that cannot reach its collector fails silently. */
export function tellFaults(log: Logger): void {
  diag.setLogger(
    {
      error: (message) => log.warn({ telemetry: message }, 'telemetry failed'),
      warn: (message) => log.warn({ telemetry: message }, 'telemetry warning'),
      info: () => {},
      debug: () => {},
      verbose: () => {},
    },
    DiagLogLevel.WARN,
  );
}

/** Resolves when the work has ended, or has taken too long. */
export async function endWithin(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, new Promise((resolve) => setTimeout(resolve, flushMsMax).unref())]);
}

/** Returns the resource of the spans and metrics. */
export function resourceOf({ serviceName, instanceId }: Pick<TelemetryOptions, 'serviceName' | 'instanceId'>): Resource {
  return resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': instanceId });
}

/** Registers a tracer provider with this processor, W3C propagation and context that follows promises. */
export function register(options: Pick<TelemetryOptions, 'serviceName' | 'instanceId'>, processor: SpanProcessor): Telemetry {
  const provider = new BasicTracerProvider({ resource: resourceOf(options), spanProcessors: [processor] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    async stop() {
      await endWithin(provider.shutdown());
      trace.disable();
      propagation.disable();
      context.disable();
    },
  };
}
