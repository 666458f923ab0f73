// Whether the current work belongs to a recorded trace.
import { type Context, INVALID_SPAN_CONTEXT, isSpanContextValid, type Span, trace, TraceFlags } from '@opentelemetry/api';

/** Returns the active span if its trace is recorded. The span itself may have ended: work that a request causes afterwards belongs to its trace too. */
export function recordedSpan(): Span | undefined {
  const span = trace.getActiveSpan();
  return span !== undefined && (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0 ? span : undefined;
}

/**
 * Reports whether the context belongs to a trace that this process has decided not to record, so that further spans would only cost time. For a trace that
 * another process began, the sampler decides.
 */
export function isDropped(context: Context): boolean {
  const parent = trace.getSpanContext(context);
  return parent !== undefined && parent.isRemote !== true && (parent.traceFlags & TraceFlags.SAMPLED) === 0;
}

/** Reports whether the span belongs to a trace: without an SDK and a caller's trace it does not. */
export function hasIdentity(span: Span): boolean {
  const spanContext = span.spanContext();
  return spanContext !== INVALID_SPAN_CONTEXT && isSpanContextValid(spanContext);
}

/** Returns the id of the active trace; empty when the trace is not recorded, so that a link never leads to a trace that no receiver has. */
export function recordedTraceId(): string {
  return recordedSpan()?.spanContext().traceId ?? '';
}
