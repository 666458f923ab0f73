// Serves service objects to another thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { defaultTextMapGetter } from '@opentelemetry/api';
import { AppError, toAppError } from '#client/errors/app-error.js';
import { type CallContext, consumerLeft } from '#client/call-context.js';
import { handlerOf, type MethodInfo, methodsOf, type StreamHandler, type UnaryHandler } from '#client/definition.js';
import { pump } from '#client/grpc/stream-pump.js';
import { inTraceOf } from '#client/traceparent.js';
import type { Logger } from '../../log.js';
import type { ServedService } from '../served-service.js';
import { RequestStream } from '../request-stream.js';
import { type CallHeader, type Failure, type Frame, Kind, ThreadLink } from './link.js';
import { type Packed, packResponse, unpackRequest } from './packing.js';
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
  readonly abort: AbortController;
  readonly isWatch: boolean;
  readonly responses: Outlet;
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
  const calls = new Map<number, OpenCall>();
  let isStopping = false;
  const link = new ThreadLink(port, { receive, closed: () => abortAll(consumerLeft) });

  function abortAll(error: AppError): void {
    for (const { abort } of calls.values()) abort.abort(error);
  }

  function receive(frame: Frame): void {
    if (frame[0] === Kind.call) return begin(frame[1], frame[2], frame[3], frame[4]);
    const call = calls.get(frame[1]);
    if (frame[0] === Kind.cancel) {
      calls.delete(frame[1]);
      call?.abort.abort(frame[2] ? new AppError('deadline_exceeded', 'There was no response in time.') : consumerLeft);
    } else if (frame[0] === Kind.message) call?.requests?.arriving.push(frame[2]);
    else if (frame[0] === Kind.end) call?.requests?.arriving.end();
    else if (frame[0] === Kind.credit) call?.responses.grant(frame[2]);
    return undefined;
  }

  function begin(id: number, method: string, packed: Packed | undefined, header: CallHeader): void {
    const served = methods.get(method);
    if (served === undefined || isStopping) {
      const error = isStopping
        ? new AppError('service_unavailable', `${method}: the service is stopping.`)
        : new AppError('unimplemented', `${method}: the service does not offer this call.`);
      link.send([Kind.failure, id, failureOf(error)]);
      return;
    }
    const { info, handler } = served;
    const call = openCall(id, info);
    calls.set(id, call);
    const onProvisional = (response: unknown): void => {
      if (calls.has(id)) link.send([Kind.provisional, id, packResponse(info, response)]);
    };
    const context = { ...contextOf(header, call.abort.signal), ...(header.wantsProvisional === true ? { onProvisional } : {}) };
    const serve = async (): Promise<void> => {
      try {
        const request = call.requests?.read ?? unpackRequest(info, packed!);
        if (info.definition.responseStream) {
          const responses = (handler as StreamHandler)(request, context);
          await pump(responses, call.responses, call.abort.signal, (response) => packResponse(info, response));
          if (calls.has(id)) link.send([Kind.end, id]);
        } else {
          const response = packResponse(info, await (handler as UnaryHandler)(request, context));
          if (calls.has(id)) link.send([Kind.result, id, response]);
        }
      } catch (error) {
        if (calls.has(id)) link.send([Kind.failure, id, failureOf(logged(error, info))]);
      } finally {
        calls.delete(id);
        call.requests?.arriving.end();
      }
    };
    if (header.trace === undefined) void serve();
    else void inTraceOf(header.trace, defaultTextMapGetter, serve);
  }

  function openCall(id: number, info: MethodInfo): OpenCall {
    const abort = new AbortController();
    const responses = new Outlet((message) => calls.has(id) && link.send([Kind.message, id, message]));
    // By convention of our contracts a stream named Watch… never ends by itself.
    const call = { abort, responses, isWatch: info.definition.responseStream && info.definition.name.startsWith('Watch') };
    if (!info.definition.requestStream) return call;
    const arriving = new Inlet((messages) => calls.has(id) && link.send([Kind.credit, id, messages]));
    const read = new RequestStream(arriving, abort.signal, (sent) => unpackRequest(info, sent as Packed));
    return { ...call, requests: { arriving, read } };
  }

  function contextOf({ deadlineMs, actorToken }: CallHeader, signal: AbortSignal): CallContext {
    return { caller, signal, ...(deadlineMs === undefined ? {} : { deadlineMs }), ...(actorToken === undefined ? {} : { actorToken }) };
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
      for (const { abort, isWatch, requests } of calls.values()) {
        if (isWatch) abort.abort(new AppError('service_unavailable', 'This server is stopping; another one can be watched.'));
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
