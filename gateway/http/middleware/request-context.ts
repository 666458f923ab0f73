// The outermost middleware: gives the request its id and span, and logs its result in one line.
import { context as telemetry, isSpanContextValid, metrics, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { Context, Middleware, Next } from 'koa';
import { newId } from '#kit/id.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { Format } from '../../formats/format.js';
import type { BodyGuard } from '../body-guard.js';
import { endRequestSpan, startRequestSpan } from '../request-span.js';
import { beginState, stateOf } from '../request-state.js';

/** In seconds; a stream may last for minutes. */
const durationBoundaries = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** The names of a response's two request id headers: x-request-id is read by one family of clients, request-id by the other. */
function setRequestId(ctx: Context, requestId: string): void {
  ctx.res.setHeader('x-request-id', requestId);
  ctx.res.setHeader('request-id', requestId);
}

/** Creates the middleware. `dialectOf` chooses the error format from what is known at the start. */
export function first(deps: { clock: Clock; log: Logger; bodies: BodyGuard; dialectOf(ctx: Context): Pick<Format, 'error'> }): Middleware {
  const { clock, log, bodies, dialectOf } = deps;
  const durations = metrics.getMeter('tollgate.gateway').createHistogram('http.server.request.duration', {
    description: 'Duration of requests, to the last byte.',
    unit: 's',
    advice: { explicitBucketBoundaries: durationBoundaries },
  });
  // Every field of the line is ours, and none is a secret. Redaction, which looks into each of them, takes five times as long as the rest.
  const accessLog = log.child({}, { redact: [] });
  return async (ctx: Context, next: Next) => {
    // A target such as "http://[" is not a URL, and throws wherever its path is read. It is not found, like this one.
    if (!isUrl(ctx)) ctx.url = '/';
    const startedAtMs = clock.nowMs();
    const requestId = newId('req', startedAtMs);
    beginState(ctx, { requestId, dialect: dialectOf(ctx), bodies });
    setRequestId(ctx, requestId);
    const parent = propagation.extract(ROOT_CONTEXT, ctx.headers);
    const span = startRequestSpan(ctx, requestId, parent);
    // Without an SDK there is nothing to activate.
    const inSpan = span !== undefined && isSpanContextValid(span.spanContext()) ? trace.setSpan(parent, span) : undefined;
    try {
      await (inSpan === undefined ? next() : telemetry.with(inSpan, next));
    } finally {
      const state = stateOf(ctx);
      const status = ctx.res.statusCode === 200 && !ctx.respond ? 200 : ctx.status;
      const durationMs = clock.nowMs() - startedAtMs;
      durations.record(durationMs / 1000, {
        'http.request.method': ctx.method,
        'http.route': state.route ?? 'unmatched',
        'http.response.status_code': status,
      });
      const line = {
        request_id: requestId,
        method: ctx.method,
        route: state.route ?? 'unmatched',
        status,
        duration_ms: durationMs,
        account_id: state.key?.accountId,
        key_id: state.key?.id,
        model: state.modelId,
        original_request_id: state.originalId,
      };
      // Inside the span, whose trace id the logger adds.
      telemetry.with(inSpan ?? telemetry.active(), () => accessLog.info(line, 'request'));
      if (span !== undefined) endRequestSpan(span, ctx, status, state);
    }
  };
}

function isUrl(ctx: Context): boolean {
  try {
    return ctx.path !== '';
  } catch {
    return false;
  }
}
