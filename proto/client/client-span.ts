// Creates client spans for the calls of a process within a recorded trace (https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans). Calls outside of
// one, such as polling, have no span. Without @opentelemetry/api no call has one.
import type { CallContext } from './call-context.js';
import { consumerDisconnected } from './call-context.js';
import type { StreamHandler, UnaryHandler } from './definition.js';
import { toAppError } from './errors/app-error.js';
import { statusNames } from './errors/status.js';

const api = await import('@opentelemetry/api').catch(() => undefined);
// The API returns a proxy, so this also works when the SDK starts later.
const tracer = api?.trace.getTracer('tollgate.rpc');

/** The address that a client connects to, as attributes of the semantic conventions. */
export interface ServerAddress {
  readonly 'server.address'?: string;
  readonly 'server.port'?: number;
}

interface ClientSpan {
  within<T>(step: () => T): T;
  end(error?: unknown): void;
}

/** Returns the address in "host:port", "dns:///host:port" or "unix:/path"; nothing for a list of addresses. */
export function serverAddressOf(address: string): ServerAddress {
  if (address.startsWith('unix:')) return { 'server.address': address.slice('unix:'.length) };
  const match = /^(?:dns:\/\/\/)?\[?([^/,[\]]+)\]?:(\d+)$/.exec(address);
  return match === null ? {} : { 'server.address': match[1]!, 'server.port': Number(match[2]) };
}

/** Returns the method with a span around each call. */
export function tracedUnary(rpc: string, handler: UnaryHandler, server: ServerAddress = {}): UnaryHandler {
  return (request, context) => {
    const span = startSpan(rpc, server);
    return span === undefined ? handler(request, context) : inSpan(span, () => handler(request, context));
  };
}

/** Returns the streaming method with a span around each call. */
export function tracedStream(rpc: string, handler: StreamHandler, server: ServerAddress = {}): StreamHandler {
  return (request, context) => {
    const span = startSpan(rpc, server);
    return span === undefined ? handler(request, context) : streamInSpan(span, handler, request, context);
  };
}

function startSpan(rpc: string, server: ServerAddress): ClientSpan | undefined {
  if (api === undefined || tracer === undefined) return undefined;
  const active = api.context.active();
  const outer = api.trace.getSpanContext(active);
  if (outer === undefined || (outer.traceFlags & api.TraceFlags.SAMPLED) === 0) return undefined;
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': rpc, ...server };
  const span = tracer.startSpan(rpc, { kind: api.SpanKind.CLIENT, attributes }, active);
  const inside = api.trace.setSpan(active, span);
  return {
    within: (step) => api.context.with(inside, step),
    end(error) {
      const failure = error === undefined ? undefined : toAppError(error);
      span.setAttribute('rpc.response.status_code', statusNames[failure?.code ?? 0]!);
      if (failure !== undefined) {
        span.setAttribute('error.type', failure.reason);
        // A consumer that stops reading a stream has not failed.
        if (failure !== consumerDisconnected) span.setStatus({ code: api.SpanStatusCode.ERROR, message: failure.message });
      }
      span.end();
    },
  };
}

async function inSpan<T>(span: ClientSpan, call: () => Promise<T>): Promise<T> {
  let failure: unknown;
  try {
    return await span.within(call);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    span.end(failure);
  }
}

async function* streamInSpan(span: ClientSpan, handler: StreamHandler, request: unknown, context: CallContext): AsyncGenerator<unknown> {
  let failure: unknown = consumerDisconnected;
  const responses = span.within(() => handler(request, context)[Symbol.asyncIterator]());
  try {
    for (;;) {
      const result = await span.within(() => responses.next());
      if (result.done === true) break;
      yield result.value;
    }
    failure = undefined;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    if (failure === consumerDisconnected) await span.within(() => responses.return?.());
    span.end(failure);
  }
}
