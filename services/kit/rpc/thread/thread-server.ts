// Serves service objects to another thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { defaultTextMapGetter } from '@opentelemetry/api';
import { AppError, toAppError } from '#client/errors/app-error.js';
import { callContext, consumerDisconnected } from '#client/call-context.js';
import { decodeRequest, encodeResponse } from '#client/codec.js';
import { handlerOf, type MethodInfo, methodsOf, type StreamHandler, type UnaryHandler } from '#client/definition.js';
import { pump } from '#client/grpc/stream-pump.js';
import { InFlight } from '#client/in-flight.js';
import { inTraceOf } from '#client/traceparent.js';
import type { Logger } from '../../log.js';
import type { ServedService } from '../served-service.js';
import { LocalCall } from '../local/local-call.js';
import { RequestStream } from '../local/request-stream.js';
import { type CallHeader, type Failure, type Frame, Kind, ThreadLink } from './link.js';
import { Inlet, Outlet } from './stream-ends.js';

/** Options of `serveThread`. */
export interface ServeThreadOptions {
  services: readonly ServedService[];
  /** The name of the thread's calls. */
  caller: string;
  log: Logger;
}

/** A server for one other thread. */
export interface ThreadServer {
  /**
   * Ends watches, stops reading requests of calls that stream them, lets calls in flight finish for at most `graceMs`, then aborts them and
   * closes the port.
   */
  stop(graceMs: number): Promise<void>;
}

interface Served {
  readonly info: MethodInfo;
  readonly handler: UnaryHandler & StreamHandler;
}

/** A call in flight. */
interface OpenCall {
  readonly context: LocalCall;
  readonly isWatch: boolean;
  /** The responses of a call that streams them. */
  readonly responses?: Outlet;
  /** The requests of a call that streams them: as they arrive, and as the service reads them. */
  readonly requests?: { readonly arriving: Inlet; readonly read: RequestStream };
}

const stopPollMs = 5;

/** Starts serving over a port. */
export function serveThread(port: MessagePort, options: ServeThreadOptions): ThreadServer {
  const { caller, log } = options;
  const methods = new Map<string, Served>();
  for (const { definition, service } of options.services)
    for (const info of methodsOf(definition)) methods.set(info.fullName, { info, handler: handlerOf(service, info) });
  const calls = new InFlight<OpenCall>();
  let isStopping = false;
  const link = new ThreadLink(port, { receive, closed: () => abortAll(consumerDisconnected) });

  function abortAll(error: AppError): void {
    for (const { context } of calls.values()) context.cancel(error);
  }

  function receive(frame: Frame): void {
    if (frame[0] === Kind.call) return begin(frame[1], frame[3], frame[2], frame[4]);
    const call = calls.get(frame[1]);
    if (frame[0] === Kind.cancel) {
      calls.delete(frame[1]);
      call?.context.cancel(frame[2] ? new AppError('deadline_exceeded', 'There was no response in time.') : consumerDisconnected);
    } else if (frame[0] === Kind.message) call?.requests?.arriving.push(frame[2]);
    else if (frame[0] === Kind.end) call?.requests?.arriving.end();
    else if (frame[0] === Kind.credit) call?.responses?.grant(frame[2]);
    return undefined;
  }

  function begin(id: number, method: string, message: Uint8Array | undefined, header: CallHeader): void {
    const served = methods.get(method);
    if (served === undefined || isStopping) {
      const error = isStopping
        ? new AppError('service_unavailable', `${method}: the service is stopping.`)
        : new AppError('unimplemented', `${method}: the service does not offer this call.`);
      link.send([Kind.failure, id, failureOf(error)]);
      return;
    }
    const { info, handler } = served;
    const call = openCall(id, info, header);
    calls.set(id, call);
    const { context, responses } = call;
    let provisional: unknown;
    if (header.wantsProvisional === true) {
      context.onProvisional = (response) => {
        provisional = response;
        if (calls.has(id)) link.send([Kind.provisional, id, encodeResponse(info, response)]);
      };
    }
    const serve = async (): Promise<void> => {
      let isDone = false;
      try {
        const request = call.requests?.read ?? decodeRequest(info, message!);
        if (responses !== undefined) {
          await pump((handler as StreamHandler)(request, context), responses, context.signal, (each) => encodeResponse(info, each));
          if (calls.has(id)) link.send([Kind.end, id]);
        } else {
          const response = await context.step(() => handler(request, context) as Promise<unknown>);
          // A response that was sent already need not be sent again.
          if (calls.has(id)) link.send(response === provisional ? [Kind.confirmed, id] : [Kind.result, id, encodeResponse(info, response)]);
        }
        isDone = true;
      } catch (error) {
        if (calls.has(id)) link.send([Kind.failure, id, failureOf(logged(error, info))]);
      } finally {
        calls.delete(id);
        context.close(isDone);
        call.requests?.arriving.end();
      }
    };
    if (header.trace === undefined) void serve();
    else void inTraceOf(header.trace, defaultTextMapGetter, serve);
  }

  function openCall(id: number, info: MethodInfo, { deadlineMs, actorToken }: CallHeader): OpenCall {
    const given = callContext({ caller, actorToken });
    const context = new LocalCall(info.fullName, caller, deadlineMs === undefined ? given : { ...given, deadlineMs });
    const { requestStream, responseStream, name } = info.definition;
    if (!responseStream) return { context, isWatch: false };
    const responses = new Outlet((message) => calls.has(id) && link.send([Kind.message, id, message]));
    // By convention of our contracts a stream named Watch… never ends by itself.
    const call = { context, responses, isWatch: name.startsWith('Watch') };
    if (!requestStream) return call;
    const arriving = new Inlet((messages) => calls.has(id) && link.send([Kind.credit, id, messages]));
    const read = new RequestStream(arriving, context.signal, (sent) => decodeRequest(info, sent as Uint8Array));
    return { ...call, requests: { arriving, read } };
  }

  /** A decorated service has logged its own errors; this logs errors outside it, such as a response that cannot be encoded. */
  function logged(error: unknown, info: MethodInfo): AppError {
    const appError = toAppError(error);
    if (appError !== error && appError.reason === 'internal') log.error({ err: error, rpc: info.fullName }, 'call failed');
    return appError;
  }

  return {
    async stop(graceMs) {
      isStopping = true;
      for (const { context, isWatch, requests } of calls.values()) {
        if (isWatch) context.cancel(new AppError('service_unavailable', 'This server is stopping; watch another one.'));
        requests?.read.end();
      }
      for (let waitedMs = 0; calls.size > 0 && waitedMs < graceMs; waitedMs += stopPollMs) await sleep(stopPollMs);
      abortAll(new AppError('service_unavailable', 'The service ended the call early.'));
      // The errors of the aborted calls are sent before the port closes.
      await new Promise((resolve) => setImmediate(resolve));
      link.close();
    },
  };
}

function failureOf({ reason, message, details, retryAfterMs }: AppError): Failure {
  return { reason, message, details: { ...details }, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}
