// The OpenTelemetry SDK: traces only, W3C context, batches over OTLP/HTTP. Loaded by telemetry.ts when there is an endpoint.
import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from './log.js';

/** Who sends the spans, and where trouble with sending them is told. */
export interface TelemetryOptions {
  /** service.name of every span, for example "tollgate-ledger". */
  serviceName: string;
  /** Tells replicas apart: service.instance.id. */
  instanceId: string;
  log: Logger;
}

/** Running telemetry. */
export interface Telemetry {
  /** Sends what is buffered, then ends. */
  stop(): Promise<void>;
}

// A collector that hangs must not keep a process from ending.
const flushMsMax = 5000;

/** Registers the SDK globally, sending to the OTLP/HTTP receiver at this base url. */
export function startSdk(options: TelemetryOptions, otlpEndpoint: string): Telemetry {
  // Without this an exporter that cannot reach its collector fails in silence.
  diag.setLogger(
    {
      error: (message) => options.log.warn({ telemetry: message }, 'telemetry failed'),
      warn: (message) => options.log.warn({ telemetry: message }, 'telemetry warns'),
      info: () => {},
      debug: () => {},
      verbose: () => {},
    },
    DiagLogLevel.WARN,
  );
  const exporter = new OTLPTraceExporter({ url: `${otlpEndpoint.replace(/\/$/, '')}/v1/traces` });
  return register(options, new BatchSpanProcessor(exporter));
}

/** Registers a tracer provider with this processor, W3C propagation and context that follows promises. */
export function register(options: Pick<TelemetryOptions, 'serviceName' | 'instanceId'>, processor: SpanProcessor): Telemetry {
  const resource = resourceFromAttributes({ 'service.name': options.serviceName, 'service.instance.id': options.instanceId });
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    async stop() {
      await Promise.race([provider.shutdown(), new Promise((resolve) => setTimeout(resolve, flushMsMax).unref())]);
      trace.disable();
      propagation.disable();
      context.disable();
    },
  };
}
