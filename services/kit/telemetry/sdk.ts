// The OpenTelemetry SDK: the resource and the propagators of all telemetry, and traces. telemetry.ts loads it when anything is sent or served.
import { context, diag, DiagLogLevel, propagation, type TextMapPropagator, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanLimits, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { propagateWith } from '#client/traceparent.js';
import { type OtelConfig, otlpTargetOf, type Propagator } from '../config/otel/settings.js';
import type { Logger } from '../log.js';
import { tollgateVersion } from '../process/version.js';
import { spanExporter } from './otlp.js';
import { samplerOf } from './traces/sampler.js';

/** The process that sends telemetry, and where export failures are logged. */
export interface TelemetryOptions {
  /** Its service.name, for example "tollgate-ledger". */
  serviceName: string;
  /** Distinguishes replicas: service.instance.id. */
  instanceId: string;
  otel: OtelConfig;
  log: Logger;
}

/** Running telemetry. */
export interface Telemetry {
  /** Sends what is buffered, then stops. */
  stop(): Promise<void>;
}

// A collector that hangs must not keep a process from ending.
const flushMsMax = 5000;

/** Registers the SDK for traces globally, if they are sent. */
export function startTraces(options: Pick<TelemetryOptions, 'serviceName' | 'instanceId' | 'otel'>): Telemetry {
  const { otel } = options;
  const target = otlpTargetOf('traces', otel);
  if (target === undefined) return { stop: async () => undefined };
  const processor = new BatchSpanProcessor({
    exporter: spanExporter(target),
    scheduledDelayMillis: otel.otelSpanDelayMs,
    exportTimeoutMillis: otel.otelSpanTimeoutMs,
    maxQueueSize: otel.otelSpanQueueMax,
    maxExportBatchSize: otel.otelSpanBatchMax,
  });
  return register(options, processor);
}

/** Logs the SDK's own errors: without this an exporter that cannot reach its collector fails silently. */
export function logFaults(log: Logger): void {
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

/** Resolves when the work has ended, or after `flushMsMax`. Raises the error of the work. */
export async function endWithin(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, new Promise((resolve) => setTimeout(resolve, flushMsMax).unref())]);
}

/** Returns the resource of all telemetry. The names of the process and its replica take precedence over OTEL_RESOURCE_ATTRIBUTES. */
export function resourceOf({ serviceName, instanceId, otel }: Pick<TelemetryOptions, 'serviceName' | 'instanceId' | 'otel'>): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.version': tollgateVersion, ...otel.otelResourceAttributes }))
    .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': instanceId }));
}

/** Registers a tracer provider with this processor, propagation, and context that follows promises. */
export function register(options: Pick<TelemetryOptions, 'serviceName' | 'instanceId' | 'otel'>, processor: SpanProcessor): Telemetry {
  const { otel } = options;
  const provider = new TracerProvider({
    resource: resourceOf(options),
    spanProcessors: [processor],
    sampler: samplerOf(otel),
    spanLimits: limitsOf(otel),
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  // OTEL_PROPAGATORS applies to clients and upstreams only: between our own processes the trace context is always propagated.
  propagation.setGlobalPropagator(propagatorOf(otel.otelPropagators));
  propagateWith(propagatorOf(['tracecontext', 'baggage']));
  trace.setGlobalTracerProvider(provider);
  return {
    async stop() {
      await endWithin(provider.shutdown());
      trace.disable();
      propagation.disable();
      propagateWith(undefined);
      context.disable();
    },
  };
}

function limitsOf(otel: OtelConfig): SpanLimits {
  return {
    attributeCountLimit: otel.otelSpanAttributesMax ?? otel.otelAttributesMax,
    attributeValueLengthLimit: otel.otelSpanAttributeLengthMax ?? otel.otelAttributeLengthMax ?? Infinity,
    eventCountLimit: otel.otelSpanEventsMax,
    linkCountLimit: otel.otelSpanLinksMax,
  };
}

const propagators = {
  tracecontext: () => new W3CTraceContextPropagator(),
  baggage: () => new W3CBaggagePropagator(),
} as const satisfies Record<Propagator, () => TextMapPropagator>;

function propagatorOf(names: readonly Propagator[]): TextMapPropagator {
  return new CompositePropagator({ propagators: names.map((name) => propagators[name]()) });
}
