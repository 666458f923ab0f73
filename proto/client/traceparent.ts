// The trace context of outgoing calls. It is sent when the process has @opentelemetry/api; the client package works without it.
import type { TextMapGetter, TextMapPropagator } from '@opentelemetry/api';

const api = await import('@opentelemetry/api').catch(() => undefined);

// The default is the propagator that the process registered globally.
let propagator: Pick<TextMapPropagator, 'inject' | 'extract'> | undefined = api?.propagation;

/** Replaces the propagator that carries trace context between processes; undefined: use the one that is registered globally. */
export function propagateWith(replacement: TextMapPropagator | undefined): void {
  propagator = replacement ?? api?.propagation;
}

/** Adds the active trace context to the metadata of a call. */
export function injectTraceContext(metadata: { set(key: string, value: string): void }): void {
  if (api !== undefined) propagator?.inject(api.context.active(), metadata, { set: (carrier, key, value) => carrier.set(key, value) });
}

/** Runs the function in the trace that the carrier names, or in no trace if it names none. */
export function inTraceOf<Carrier, T>(carrier: Carrier, getter: TextMapGetter<Carrier>, run: () => T): T {
  return api === undefined || propagator === undefined
    ? run()
    : api.context.with(propagator.extract(api.ROOT_CONTEXT, carrier, getter), run);
}

/** Returns the active traceparent (https://www.w3.org/TR/trace-context/#traceparent-header); empty when it is not sampled. */
export function activeTraceparent(): string {
  const span = api?.trace.getSpanContext(api.context.active());
  if (api === undefined || span === undefined || !api.isSpanContextValid(span)) return '';
  return (span.traceFlags & api.TraceFlags.SAMPLED) === 0 ? '' : `00-${span.traceId}-${span.spanId}-01`;
}

// The context key that every SDK honours; `suppressTracing` of @opentelemetry/core sets it.
const silent = api?.ROOT_CONTEXT.setValue(api.createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'), true);

/** Runs the function so that nothing in it is traced. */
export function untraced<T>(run: () => T): T {
  return api === undefined || silent === undefined ? run() : api.context.with(silent, run);
}
