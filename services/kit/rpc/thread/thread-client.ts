// Clients of services in another thread, with the same types as the services themselves.
import type { MessagePort } from 'node:worker_threads';
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import { tracedStream, tracedUnary } from '#client/client-span.js';
import { decodeResponse, encodeRequest } from '#client/codec.js';
import {
  handlerOf,
  type MethodInfo,
  methodsOf,
  type ServiceDefinition,
  type ServiceOf,
  type StreamHandler,
  type UnaryHandler,
  type UntypedService,
} from '#client/definition.js';
import { InFlight } from '#client/in-flight.js';
import { pump } from '#client/grpc/stream-pump.js';
import { injectTraceContext } from '#client/traceparent.js';
import type { Crossing } from '../local/crossing.js';
import type { LocalCall } from '../local/local-call.js';
import { localClient } from '../local/local-client.js';
import { type CallHeader, type Failure, type Frame, Kind, ThreadLink } from './link.js';
import { Inlet, Outlet } from './stream-ends.js';

/** A connection to the thread that serves at the other end of a port. */
export interface ThreadConnection {
  /**
   * Returns a client of one of its services. It raises what the service raises, and service_unavailable when the other thread has ended or
   * does not serve.
   */
  client<D extends ServiceDefinition>(definition: D): ServiceOf<D>;
  /** Aborts the calls in flight. */
  close(): void;
}

/** A call without its result. */
interface OpenCall {
  receive(frame: Frame): void;
  fail(error: AppError): void;
}

// A local client does the rest: deadlines, cancellation and errors are the same on this side of every call.
const crossing: Crossing = { request: encodeRequest, response: (info, sent) => decodeResponse(info, sent as Uint8Array) };

/** Returns a connection over a port. `caller` is for errors only: the serving thread knows its caller. */
export function dialThread(port: MessagePort, { caller }: { caller: string }): ThreadConnection {
  const calls = new InFlight<OpenCall>();
  let lastId = 0;
  let isClosed = false;
  const link = new ThreadLink(port, {
    receive: (frame) => calls.get(frame[1])?.receive(frame),
    closed() {
      isClosed = true;
      for (const call of calls.values()) call.fail(broken());
      calls.clear();
    },
  });

  /** Sends the call; notifies the other thread when the caller gives up. */
  function begin(info: MethodInfo, request: Uint8Array | undefined, context: CallContext, call: OpenCall): number {
    if (isClosed) throw broken();
    const id = (lastId += 1);
    calls.set(id, call);
    link.send([Kind.call, id, request, info.fullName, headerOf(context)]);
    // The context is always a LocalCall, because the client that calls this is a local client.
    (context as LocalCall).onAbort = ({ reason }) => {
      if (calls.delete(id)) link.send([Kind.cancel, id, reason === 'deadline_exceeded']);
    };
    return id;
  }

  const unary =
    (info: MethodInfo): UnaryHandler =>
    (request, context) =>
      new Promise((resolve, reject) => {
        let provisional: Uint8Array | undefined;
        begin(info, request as Uint8Array, context, {
          receive(frame) {
            if (frame[0] === Kind.provisional) return context.onProvisional?.((provisional = frame[2]));
            calls.delete(frame[1]);
            if (frame[0] === Kind.result) resolve(frame[2]);
            else if (frame[0] === Kind.confirmed) resolve(provisional);
            else if (frame[0] === Kind.failure) reject(errorOf(frame[2]));
            return undefined;
          },
          fail: reject,
        });
      });

  const stream =
    (info: MethodInfo): StreamHandler =>
    (request, context) => {
      const responses = new Inlet((messages) => link.send([Kind.credit, id, messages]));
      const requests = info.definition.requestStream
        ? new Outlet((message) => calls.has(id) && link.send([Kind.message, id, message]))
        : undefined;
      const sending = new AbortController();
      const over = (failure?: { readonly error: AppError }): void => {
        calls.delete(id);
        sending.abort();
        responses.end(failure);
      };
      const id = begin(info, requests === undefined ? (request as Uint8Array) : undefined, context, {
        receive(frame) {
          if (frame[0] === Kind.message) responses.push(frame[2]);
          else if (frame[0] === Kind.credit) requests?.grant(frame[2]);
          else if (frame[0] === Kind.end) over();
          else if (frame[0] === Kind.failure) over({ error: errorOf(frame[2]) });
        },
        fail: (error) => over({ error }),
      });
      if (requests !== undefined) {
        context.signal.addEventListener('abort', () => sending.abort(), { once: true });
        pump(request as AsyncIterable<Uint8Array>, requests, sending.signal, (message) => message as Uint8Array).then(
          () => link.send([Kind.end, id]),
          // The call has ended: the local client has seen why.
          () => undefined,
        );
      }
      return responses;
    };

  return {
    client<D extends ServiceDefinition>(definition: D): ServiceOf<D> {
      const remote: UntypedService = {};
      for (const info of methodsOf(definition)) remote[info.key] = info.definition.responseStream ? stream(info) : unary(info);
      const local = localClient(definition, remote as ServiceOf<D>, { caller, crossing });
      const client: UntypedService = {};
      for (const info of methodsOf(definition)) {
        const handler = handlerOf(local, info);
        client[info.key] = info.definition.responseStream ? tracedStream(info.fullName, handler) : tracedUnary(info.fullName, handler);
      }
      return client as ServiceOf<D>;
    },
    close: () => link.close(),
  };
}

function headerOf({ deadlineMs, actorToken, onProvisional }: CallContext): CallHeader {
  let trace: Record<string, string> | undefined;
  injectTraceContext({ set: (key, value) => ((trace ??= {})[key] = value) });
  return {
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(actorToken === undefined ? {} : { actorToken }),
    ...(trace === undefined ? {} : { trace }),
    ...(onProvisional === undefined ? {} : { wantsProvisional: true }),
  };
}

function errorOf({ reason, message, details, retryAfterMs }: Failure): AppError {
  return new AppError(reason, message, { details, remote: true, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

function broken(): AppError {
  return new AppError('service_unavailable', 'The thread of the service has ended.');
}
