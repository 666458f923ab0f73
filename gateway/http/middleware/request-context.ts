// The outermost middleware: gives the request its id and span, and logs its result in one line.
import { context as telemetry, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { Context, Middleware, Next } from 'koa';
import { newId } from '#kit/id.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { histogram } from '#kit/telemetry/metrics.js';
import { hasIdentity } from '#kit/telemetry/traces/recorded-trace.js';
import type { Format } from '../../formats/format.js';
import type { BodyGuard } from '../body-guard.js';
import { endRequestSpan, isProbe, startRequestSpan } from '../request-span.js';
import { beginState, stateOf } from '../request-state.js';
import { sendTiming } from '../server-timing.js';

const durations = histogram(
  {
    name: 'http.server.request.duration',
    unit: 's',
    description: 'Duration of requests, to the last byte.',
    by: 'gateway',
    labels: {
      'http.request.method': 'GET, POST and so on; _OTHER for any method that HTTP/1.1 does not define.',
      'http.route': 'The template of the path, such as /v1/messages; unmatched for any path that has none.',
      'http.response.status_code': 'The status.',
    },
  },
  // A stream may last for minutes.
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
);
const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE']);

/** The names of a response's two request id headers: x-request-id is read by one family of clients, request-id by the other. */
function setRequestId(ctx: Context, requestId: string): void {
  ctx.res.setHeader('x-request-id', requestId);
  ctx.res.setHeader('request-id', requestId);
}

/** Creates the middleware. `dialectOf` chooses the error format from what is known at the start. */
export function first(deps: { clock: Clock; log: Logger; bodies: BodyGuard; dialectOf(ctx: Context): Pick<Format, 'error'> }): Middleware {
  const { clock, log, bodies, dialectOf } = deps;
  // Every field of the line is ours, and none is a secret. Redaction, which looks into each of them, takes five times as long as the rest.
  const accessLog = log.child({}, { redact: [] });
  return async (ctx: Context, next: Next) => {
    // A target such as "http://[" is not a URL, and throws wherever its path is read; "*" has no path. They are not found, and neither is this path.
    if (!hasPath(ctx)) ctx.url = '/not-a-url';
    const beganAtMs = clock.monotonicMs();
    const requestId = newId('req', clock.nowMs());
    beginState(ctx, { requestId, dialect: dialectOf(ctx), bodies });
    setRequestId(ctx, requestId);
    const parent = propagation.extract(ROOT_CONTEXT, ctx.headers);
    const span = startRequestSpan(ctx, requestId, parent);
    // Without an SDK there is nothing to activate.
    const inSpan = span !== undefined && hasIdentity(span) ? trace.setSpan(parent, span) : undefined;
    try {
      await (inSpan === undefined ? next() : telemetry.with(inSpan, next));
    } finally {
      const state = stateOf(ctx);
      sendTiming(ctx);
      const status = statusOf(ctx);
      const durationMs = Math.round(clock.monotonicMs() - beganAtMs);
      durations
        .of({
          'http.request.method': methods.has(ctx.method) ? ctx.method : '_OTHER',
          'http.route': state.route ?? 'unmatched',
          'http.response.status_code': String(status),
        })
        .record(durationMs / 1000);
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
        reason: state.failure?.reason,
      };
      // Probes arrive every few seconds, and the metric tollgate.gateway.ready shows when they fail.
      const level = isProbe(ctx) ? 'debug' : status >= 500 ? 'warn' : 'info';
      // Inside the span, whose trace id the logger adds.
      telemetry.with(inSpan ?? telemetry.active(), () => accessLog[level](line, 'request'));
      if (span !== undefined) endRequestSpan(span, ctx, status, state);
    }
  };
}

/** Returns the status of the response, and 499 if the client disconnected before a response was sent, as for a cancelled call. */
function statusOf(ctx: Context): number {
  const { res } = ctx;
  if (res.destroyed && !res.headersSent) return 499;
  return res.statusCode === 200 && !ctx.respond ? 200 : ctx.status;
}

function hasPath(ctx: Context): boolean {
  try {
    return ctx.path.startsWith('/');
  } catch {
    return false;
  }
}
