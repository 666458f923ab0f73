// Decorator that records a span, a duration and one log line per call. An unknown error is logged here, once, and hidden from the caller.
import { type Context, context as activeContext, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type AppError, toAppError } from '#client/errors/app-error.js';
import { Status, statusNames } from '#client/errors/status.js';
import { builtInCallers } from '#rules/access/callers.js';
import type { Logger } from '../../log.js';
import { addException } from '../../telemetry/traces/exception-event.js';
import { hasIdentity, isDropped } from '../../telemetry/traces/recorded-trace.js';
import type { Decorator } from './decorate.js';
import { servedCalls } from './rpc-metrics.js';

/** The status codes that are the server's fault, by https://opentelemetry.io/docs/specs/semconv/rpc/grpc/. */
const faults: ReadonlySet<number> = new Set([
  Status.UNKNOWN,
  Status.DEADLINE_EXCEEDED,
  Status.UNIMPLEMENTED,
  Status.INTERNAL,
  Status.UNAVAILABLE,
  Status.DATA_LOSS,
]);

/** Traces and logs every call. Outermost in the chain, so that it also sees calls that the other decorators refuse. */
export function telemetry(log: Logger): Decorator {
  // The API returns a proxy, so this also works when the SDK starts later.
  const tracer = trace.getTracer('tollgate.rpc');
  return (method) => {
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': method.fullName };
    const count = servedCalls(method);
    return (context) => {
      const outer = activeContext.active();
      const span =
        isDropped(outer) || isOwnInitiative(context.caller, outer)
          ? undefined
          : tracer.startSpan(method.fullName, { kind: SpanKind.SERVER, attributes }, outer);
      const startMs = performance.now();
      // Without an SDK there is nothing to activate, and streams would pay for it at every message.
      const active = span !== undefined && hasIdentity(span) ? trace.setSpan(outer, span) : undefined;
      return {
        context,
        ...(active === undefined ? {} : { within: <T>(step: () => T): T => activeContext.with(active, step) }),
        end(error) {
          const failure = error === undefined ? undefined : toAppError(error);
          const durationMs = performance.now() - startMs;
          count(durationMs / 1000, failure?.code ?? Status.OK);
          if (span !== undefined) endSpan(span, context.caller, failure);
          const isFault = failure !== undefined && failure.reason === 'internal' && !failure.remote;
          if (isFault || log.isLevelEnabled('debug')) {
            const line = {
              rpc: method.fullName,
              caller: context.caller,
              durationMs: Math.round(durationMs * 1000) / 1000,
            };
            activeContext.with(active ?? outer, () => {
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

/** Reports whether a process of the installation calls by itself, as when it polls or watches; only what it does for a traced request is traced. */
function isOwnInitiative(caller: string, outer: Context): boolean {
  return caller !== 'operator' && Object.hasOwn(builtInCallers, caller) && trace.getSpanContext(outer) === undefined;
}

function endSpan(span: Span, caller: string, failure: AppError | undefined): void {
  if (span.isRecording()) {
    span.setAttribute('tollgate.caller', caller);
    span.setAttribute('rpc.response.status_code', statusNames[failure?.code ?? Status.OK]!);
    if (failure !== undefined) {
      span.setAttribute('error.type', failure.reason);
      // On a server span only server faults are errors; a refused call is not.
      if (faults.has(failure.code)) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
        // An error of another service is an event of its own span.
        if (!failure.remote) addException(span, failure);
      }
    }
  }
  span.end();
}
