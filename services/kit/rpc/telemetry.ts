// Decorator that records a span, a duration and one log line per call. An unknown error is logged here, once, and hidden from the caller.
import { context as activeContext, isSpanContextValid, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type AppError, toAppError } from '#client/errors/app-error.js';
import { Status } from '#client/errors/status.js';
import type { Logger } from '../log.js';
import type { Decorator } from './decorate.js';

// Attribute names of https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/.
const statusNames = Object.fromEntries(Object.entries(Status).map(([name, code]) => [code, name]));

/** Traces and logs every call. Outermost in the chain, so that it also sees calls that the other decorators refuse. */
export function telemetry(log: Logger): Decorator {
  // The API returns a proxy, so this also works when the SDK starts later.
  const tracer = trace.getTracer('tollgate.rpc');
  return (method) => {
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': method.fullName };
    return (context) => {
      const span = tracer.startSpan(method.fullName, { kind: SpanKind.SERVER, attributes });
      const startMs = performance.now();
      // Without an SDK there is nothing to activate, and streams would pay for it at every message.
      const active = isSpanContextValid(span.spanContext()) ? trace.setSpan(activeContext.active(), span) : undefined;
      return {
        context,
        ...(active === undefined ? {} : { within: <T>(step: () => T): T => activeContext.with(active, step) }),
        end(error) {
          const failure = error === undefined ? undefined : toAppError(error);
          endSpan(span, context.caller, failure);
          const isFault = failure !== undefined && failure.reason === 'internal' && !failure.remote;
          if (isFault || log.isLevelEnabled('debug')) {
            const line = {
              rpc: method.fullName,
              caller: context.caller,
              durationMs: Math.round((performance.now() - startMs) * 1000) / 1000,
            };
            activeContext.with(active ?? activeContext.active(), () => {
              if (isFault) log.error({ ...line, err: failure.cause ?? failure }, 'call failed');
              else log.debug({ ...line, reason: failure?.reason }, 'call');
            });
          }
          return failure;
        },
      };
    };
  };
}

function endSpan(span: Span, caller: string, failure: AppError | undefined): void {
  if (span.isRecording()) {
    span.setAttribute('tollgate.caller', caller);
    span.setAttribute('rpc.response.status_code', statusNames[failure?.code ?? Status.OK]!);
    if (failure !== undefined) {
      span.setAttribute('error.type', failure.reason);
      // On a server span only server faults are errors; a refused call is not.
      const isError = failure.code === Status.INTERNAL || failure.code === Status.UNAVAILABLE || failure.code === Status.DEADLINE_EXCEEDED;
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
    }
  }
  span.end();
}
