// The span of a request, the root of the trace of a call (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server).
import { type Attributes, type Context as TraceContext, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context } from 'koa';
import { addException } from '#kit/telemetry/traces/exception-event.js';
import type { RequestState } from './request-state.js';

const tracer = trace.getTracer('tollgate.gateway');

/** The name of the attribute with the request id, by which a trace is found for a usage record. */
const requestIdAttribute = 'tollgate.request.id';

/** Requests by which other programs see every second or so whether the gateway runs. */
const probes: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/** Reports whether the request is a probe. */
export function isProbe(ctx: Context): boolean {
  return probes.has(ctx.path);
}

const modelCharsMax = 200;

/** Starts the span; undefined for a probe. */
export function startRequestSpan(ctx: Context, requestId: string, parent: TraceContext): Span | undefined {
  if (isProbe(ctx)) return undefined;
  const attributes = { 'http.request.method': ctx.method, 'url.path': ctx.path, [requestIdAttribute]: requestId };
  return tracer.startSpan(ctx.method, { kind: SpanKind.SERVER, attributes }, parent);
}

/** Ends the span with what is known of the request. */
export function endRequestSpan(span: Span, ctx: Context, status: number, state: RequestState): void {
  if (span.isRecording()) {
    const { route, failure } = state;
    if (route !== undefined) span.updateName(`${ctx.method} ${route}`);
    span.setAttributes({ 'url.scheme': ctx.protocol, 'http.response.status_code': status, ...factsOf(ctx, state) });
    // A request that is refused is not an error of the server; an answer that breaks off after its status was sent is one.
    if (status >= 500 || (status === 200 && failure !== undefined && failure.reason !== 'cancelled')) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      if (failure !== undefined) addException(span, failure);
    }
  }
  span.end();
}

function factsOf(ctx: Context, { route, key, project, modelId, requestedModel, originalId, failure }: RequestState): Attributes {
  const userAgent = ctx.get('user-agent');
  const model = modelId ?? requestedModel?.slice(0, modelCharsMax);
  return {
    ...(route === undefined ? {} : { 'http.route': route }),
    ...(userAgent === '' ? {} : { 'user_agent.original': userAgent }),
    ...(key === undefined ? {} : { 'tollgate.account.id': key.accountId, 'tollgate.key.id': key.id }),
    ...(project === undefined ? {} : { 'tollgate.project.id': project.id }),
    ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
    ...(originalId === undefined ? {} : { 'tollgate.request.original_id': originalId }),
    ...(failure === undefined ? {} : { 'error.type': failure.reason }),
  };
}
