// The span of work that is done once for many calls, such as a transaction that carries the operations of all callers that waited for it. It is joined
// to their spans by links both ways (https://opentelemetry.io/docs/concepts/signals/traces/#span-links).
import { context as activeContext, ROOT_CONTEXT, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { addException, classOf } from './exception-event.js';
import { recordedSpan } from './recorded-trace.js';

const tracer = trace.getTracer('tollgate.batch');

/**
 * Runs the work of a batch in a span of its own, when the trace of a caller is recorded (`callers` are what `recordedSpan` returned to them);
 * otherwise outside every trace, whichever caller happened to start it. When all of the callers have the same trace, the batch is a child of the first;
 * otherwise it is a trace of its own, with links to and from the span of each caller.
 */
export function inBatchSpan<T>(name: string, callers: readonly (Span | undefined)[], work: () => Promise<T>): Promise<T> {
  const recorded = callers.filter((caller) => caller !== undefined);
  const [first] = recorded;
  if (first === undefined) return activeContext.with(ROOT_CONTEXT, work);
  const { traceId } = first.spanContext();
  const isOneTrace = recorded.every((caller) => caller.spanContext().traceId === traceId);
  // A child has no link to its parent: Jaeger would show the two as each other's parents.
  const linked = isOneTrace ? recorded.filter((caller) => caller !== first) : recorded;
  const span = tracer.startSpan(
    name,
    { links: linked.map((caller) => ({ context: caller.spanContext() })), attributes: { 'tollgate.batch.size': callers.length } },
    isOneTrace ? trace.setSpan(ROOT_CONTEXT, first) : ROOT_CONTEXT,
  );
  const link = { context: span.spanContext() };
  for (const caller of linked) if (caller.isRecording()) caller.addLink(link);
  return activeContext.with(trace.setSpan(ROOT_CONTEXT, span), () => inSpan(span, work));
}

/** Starts the span of work that a later batch does, if the trace is recorded. Link it with `joinBatch` and end it when the work is done. */
export function startWait(name: string): Span | undefined {
  return recordedSpan() === undefined ? undefined : tracer.startSpan(name);
}

/** Links the spans of work with the active span, whose batch does the work now, unless they are in one trace. */
export function joinBatch(waits: readonly (Span | undefined)[]): void {
  const batch = recordedSpan();
  // The span of a request that has ended takes no more links, although it is still active in work that the request caused.
  if (batch?.isRecording() !== true) return;
  for (const wait of waits) {
    if (wait === undefined || wait.spanContext().traceId === batch.spanContext().traceId) continue;
    wait.addLink({ context: batch.spanContext() });
    batch.addLink({ context: wait.spanContext() });
  }
}

/** Runs a step of a recorded trace in a span of its own. */
export function inChildSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  if (recordedSpan() === undefined) return work();
  const span = tracer.startSpan(name);
  return activeContext.with(trace.setSpan(activeContext.active(), span), () => inSpan(span, work));
}

/** Records that the operation of the active span has failed. */
export function failActiveSpan(error: unknown): void {
  const span = recordedSpan();
  if (span !== undefined) fail(span, error);
}

async function inSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', classOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
  addException(span, error);
}
