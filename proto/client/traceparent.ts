// The trace of one of many operations that travel together: each brings its own as a W3C traceparent, beside the call's metadata.
import {
  context as activeContext,
  createContextKey,
  defaultTextMapGetter,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
} from '@opentelemetry/api';

/** The traceparent of what runs now (https://www.w3.org/TR/trace-context/#traceparent-header); empty when it is not sampled. */
export function activeTraceparent(): string {
  const span = trace.getSpanContext(activeContext.active());
  if (span === undefined || !isSpanContextValid(span) || (span.traceFlags & TraceFlags.SAMPLED) === 0) return '';
  return `00-${span.traceId}-${span.spanId}-01`;
}

/** Runs the function in that trace; in none for an empty text, whatever trace surrounds it. */
export function withTraceparent<T>(traceparent: string, run: () => T): T {
  return traceparent === ''
    ? untraced(run)
    : activeContext.with(propagation.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter), run);
}

/** Runs the function so that nothing in it is traced. */
export function untraced<T>(run: () => T): T {
  return activeContext.with(silent, run);
}

// The key that every SDK heeds: suppressTracing of @opentelemetry/core, which only telemetry/sdk.ts loads.
const silent = ROOT_CONTEXT.setValue(createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'), true);
