// Serves service objects over gRPC, with health checks and reflection. https://grpc.io/docs/guides/
import type { EventEmitter } from 'node:events';
import { chmodSync } from 'node:fs';
import {
  experimental,
  Server,
  ServerCredentials,
  setLogger,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
  type Metadata,
} from '@grpc/grpc-js';
import type { TextMapGetter } from '@opentelemetry/api';
import { AppError, toAppError } from '#client/errors/app-error.js';
import type { Logger } from '../../log.js';
import type { CallContext } from '#client/call-context.js';
import { decodeRequest, encodeResponse } from '#client/codec.js';
import {
  handlerOf,
  type MethodInfo,
  methodsOf,
  type ServiceDefinition,
  type StreamHandler,
  type UnaryHandler,
} from '#client/definition.js';
import { callerOf, refuseOpenAddress, type ServerCall, sessionOf } from './grpc-identity.js';
import { actorKey, commonChannelOptions, errorTrailers, headerText, keepalive } from '#client/grpc/grpc-wire.js';
import { createHealth } from './health.js';
import { createReflection } from './reflection.js';
import { operator } from '../access/access.js';
import { RequestStream } from '../local/request-stream.js';
import type { ServedService } from '../served-service.js';
import { certificateProvider } from '#client/grpc/certificate-provider.js';
import { pump } from '#client/grpc/stream-pump.js';
import { inTraceOf } from '#client/traceparent.js';
import type { Tls } from '#client/tls.js';
import { TlsFiles } from '#client/tls-files.js';
import { removeStaleSocket } from './unix-socket.js';

/** Options of `serveGrpc`. */
export interface ServeGrpcOptions {
  services: readonly ServedService[];
  /** "host:port" (port 0 for a free one) or "unix:/path". */
  address: string;
  /** The setting that names the address, for messages. */
  setting?: string | undefined;
  /** Absent: callers are trusted to be who they say they are, which only loopback and Unix sockets allow. */
  tls?: Tls;
  /** Trusts callers without TLS on other addresses too: only for networks that only trusted processes can reach. */
  trustNetwork?: boolean;
  /** "host:port" where health checks, and nothing else, are answered without TLS, for probes that have no certificate. */
  healthAddress?: string | undefined;
  /** The setting that names it, for messages. */
  healthSetting?: string | undefined;
  /** How often connections are tested, and how long a test may take; 5 s and 10 s by default. */
  keepaliveMs?: readonly [everyMs: number, timeoutMs: number];
  log: Logger;
}

/** A running server. */
export interface GrpcServer {
  /** The address to dial: "127.0.0.1:41234" or "unix:/path". */
  readonly address: string;
  /** 0 on a Unix socket. */
  readonly port: number;
  /** Sets the health of every service, as `Health` does. It is false until this is called, and stays false once the server stops. */
  setServing(serving: boolean, unready?: readonly string[]): void;
  /**
   * Reports NOT_SERVING to health checks, ends watches, stops reading requests of calls that stream them, lets calls in flight
   * finish for at most `graceMs`, then aborts them.
   */
  stop(graceMs: number): Promise<void>;
}

/** How long connections may take to close after their calls were aborted. One whose peer hangs, or has vanished, may never close. */
const closingMsMax = 500;

/** Starts serving. Throws when the address is in use, or is open to the network without TLS. */
export async function serveGrpc(options: ServeGrpcOptions): Promise<GrpcServer> {
  const { address, tls, log } = options;
  if (tls === undefined && options.trustNetwork !== true) refuseOpenAddress(address);
  const tested = options.keepaliveMs === undefined ? {} : keepalive(...options.keepaliveMs);
  const server = new Server({ ...commonChannelOptions, ...tested });
  const watches = new Set<AbortController>();
  const reading = new Set<RequestStream>();
  const stopping = new AbortController();
  // grpcurl and other tools do not send a caller name, and need none where only the operator can connect.
  const unnamedCaller = address.startsWith('unix:') ? operator : undefined;
  for (const { definition, service } of options.services)
    addService(server, definition, service, { log, tls: tls !== undefined, unnamedCaller, watches, reading, stopping: stopping.signal });
  const serviceNames = options.services.map(({ definition }) => definition.fullName);
  const health = createHealth(serviceNames);
  const open = { log, tls: tls !== undefined, isOpen: true, unnamedCaller: undefined, watches, reading, stopping: stopping.signal };
  for (const { definition, service } of [health.served, ...createReflection(serviceNames)]) addService(server, definition, service, open);
  const healthServer = new Server(commonChannelOptions);
  addService(healthServer, health.served.definition, health.served.service, open);

  const socketPath = address.startsWith('unix:') ? address.slice('unix:'.length) : undefined;
  if (socketPath !== undefined) await removeStaleSocket(socketPath);
  const port = await bind(server, address, credentialsFor(tls), options.setting);
  if (options.healthAddress !== undefined)
    await bind(healthServer, options.healthAddress, ServerCredentials.createInsecure(), options.healthSetting);
  // Only the operator can open the socket. The umask of our processes creates it with this mode, so that it is never open to others.
  if (socketPath !== undefined) chmodSync(socketPath, 0o600);

  return {
    address: socketPath === undefined ? `${address.slice(0, address.lastIndexOf(':'))}:${port}` : address,
    port: socketPath === undefined ? port : 0,
    setServing: (serving, unready) => health.setServing(serving && !stopping.signal.aborted, unready),
    async stop(graceMs) {
      stopping.abort(new AppError('service_unavailable', 'This server is stopping; watch another one.'));
      health.setServing(false);
      for (const watch of watches) watch.abort(stopping.signal.reason);
      for (const requests of reading) requests.end();
      await new Promise<void>((resolve) => {
        let timer = setTimeout(() => {
          server.forceShutdown();
          timer = setTimeout(resolve, closingMsMax);
        }, graceMs);
        server.tryShutdown(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      healthServer.forceShutdown();
    },
  };
}

// Drops the line that grpc-js prints when it cannot listen, because `bind` raises the same fault with its cause.
setLogger({
  error(line: string) {
    if (!line.startsWith('No address added')) process.stderr.write(`${line}\n`);
  },
});

function bind(server: Server, address: string, credentials: ServerCredentials, setting?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) return resolve(port);
      const cause = /errors: \[(.*)\]$/.exec(error.message)?.[1] ?? error.message;
      const fix = setting === undefined ? '' : ` Set ${setting} to another address.`;
      reject(new AppError('failed_precondition', `gRPC cannot be served at ${address}: ${cause}.${fix}`));
    });
  });
}

function credentialsFor(tls: Tls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  if (tls instanceof TlsFiles) {
    const provider = certificateProvider(tls);
    return experimental.createCertificateProviderServerCredentials(provider, provider, true);
  }
  return ServerCredentials.createSsl(tls.ca, [{ cert_chain: tls.cert, private_key: tls.key }], true);
}

interface Serving {
  readonly log: Logger;
  readonly tls: boolean;
  /** Whether callers need no name: for health checks and reflection, which probes and tools call. */
  readonly isOpen?: boolean;
  /** The caller of calls without a certificate and without a name; undefined: they are refused. */
  readonly unnamedCaller: string | undefined;
  /** Open streams that never end by themselves. */
  readonly watches: Set<AbortController>;
  /** Requests of open calls that stream them. */
  readonly reading: Set<RequestStream>;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

type UnaryCall = ServerUnaryCall<RequestBytes, Buffer>;
type StreamCall = ServerWritableStream<RequestBytes, Buffer> | ServerDuplexStream<RequestBytes, Buffer>;

// Bytes in, bytes out: our codec runs inside the handlers, where its errors can be reported properly.
const passThrough = (bytes: Buffer): Buffer => bytes;

/** The bytes of a request, which are taken once: grpc-js keeps what it has received until the call ends, which for a stream may be minutes. */
class RequestBytes {
  #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = nothing;
    return bytes;
  }
}

const nothing = Buffer.alloc(0);

function addService(server: Server, definition: ServiceDefinition, service: object, serving: Serving): void {
  const methods = methodsOf(definition).map((info) => {
    const handler = handlerOf(service, info);
    const implementation = info.definition.responseStream ? serveStream(info, handler, serving) : serveUnary(info, handler, serving);
    const wire = {
      path: `/${info.fullName}`,
      requestStream: info.definition.requestStream,
      responseStream: info.definition.responseStream,
      requestSerialize: (request: RequestBytes) => request.take(),
      requestDeserialize: (bytes: Buffer) => new RequestBytes(bytes),
      responseSerialize: passThrough,
      responseDeserialize: passThrough,
    };
    return { key: info.key, wire, implementation };
  });
  server.addService(
    Object.fromEntries(methods.map(({ key, wire }) => [key, wire])),
    Object.fromEntries(methods.map(({ key, implementation }) => [key, implementation])) as UntypedServiceImplementation,
  );
}

function serveUnary(info: MethodInfo, handler: UnaryHandler, serving: Serving): (call: UnaryCall, answer: sendUnaryData<Buffer>) => void {
  return (call, answer) => {
    if (serving.stopping.aborted) closeLate(call);
    const abort = abortOnCancel(call);
    const work = async (): Promise<Buffer> => {
      const context = contextOf(call, abort.signal, serving);
      const response = encodeResponse(info, await handler(decodeRequest(info, call.request.take()), context));
      // grpc-js also reports a cancellation when a finished call closes.
      call.removeAllListeners('cancelled');
      return response;
    };
    inTraceOf(call.metadata, metadataGetter, work).then(
      (response) => answer(null, response),
      (error: unknown) => answer(failure(error, info, serving.log)),
    );
  };
}

function serveStream(info: MethodInfo, handler: StreamHandler, serving: Serving): (call: StreamCall) => void {
  // By convention of our contracts a stream named Watch… never ends by itself.
  const isWatch = info.definition.name.startsWith('Watch');
  return (call) => {
    const abort = abortOnCancel(call);
    if (isWatch) serving.watches.add(abort);
    if (serving.stopping.aborted) {
      closeLate(call);
      if (isWatch) abort.abort(serving.stopping.reason);
    }
    let requests: RequestStream | undefined;
    const work = async (): Promise<void> => {
      const context = contextOf(call, abort.signal, serving);
      if (!('request' in call)) {
        const sent = call.iterator({ destroyOnReturn: false }) as AsyncIterator<unknown>;
        requests = new RequestStream(sent, abort.signal, (request) => decodeRequest(info, (request as RequestBytes).take()));
        serving.reading.add(requests);
        if (serving.stopping.aborted) requests.end();
      }
      const responses = handler(
        requests ?? decodeRequest(info, (call as ServerWritableStream<RequestBytes, Buffer>).request.take()),
        context,
      );
      await pump(responses, call, abort.signal, (response) => encodeResponse(info, response));
      call.removeAllListeners('cancelled');
    };
    inTraceOf(call.metadata, metadataGetter, work)
      .then(
        () => call.end(),
        (error: unknown) => call.emit('error', failure(error, info, serving.log)),
      )
      .finally(() => {
        serving.watches.delete(abort);
        if (requests !== undefined) serving.reading.delete(requests);
      });
  };
}

/**
 * Closes the connection of a call that has begun on a stopping server as soon as its calls have ended: grpc-js does not close a connection that was being
 * opened when the server began to stop.
 */
function closeLate(call: ServerCall): void {
  sessionOf(call)?.close();
}

/** Returns a signal that aborts when the caller cancels or disconnects, or its deadline passes. */
function abortOnCancel(call: ServerCall): AbortController {
  const abort = new AbortController();
  (call as EventEmitter).on('cancelled', () => {
    const deadline = Number(call.getDeadline());
    const isLate = deadline <= Date.now();
    abort.abort(
      isLate ? new AppError('deadline_exceeded', 'There was no response in time.') : new AppError('cancelled', 'The caller disconnected.'),
    );
  });
  return abort;
}

function contextOf(call: ServerCall, signal: AbortSignal, { tls, isOpen, unnamedCaller }: Serving): CallContext {
  const deadlineMs = Number(call.getDeadline());
  const identity = isOpen === true ? { caller: '' } : callerOf(call, tls, unnamedCaller);
  const [actorToken] = call.metadata.get(actorKey);
  return {
    ...identity,
    signal,
    ...(Number.isFinite(deadlineMs) ? { deadlineMs } : {}),
    ...(actorToken === undefined ? {} : { actorToken: String(actorToken) }),
  };
}

/** Returns the status that grpc-js sends for a failed call. */
function failure(
  error: unknown,
  info: MethodInfo,
  log: Logger,
): { code: number; details: string; metadata: ReturnType<typeof errorTrailers> } {
  const appError = toAppError(error);
  // A decorated service has logged its own errors; this logs errors outside it, such as a response that cannot be encoded.
  if (appError !== error && appError.reason === 'internal') log.error({ err: error, rpc: info.fullName }, 'call failed');
  return { code: appError.code, details: headerText(appError.message), metadata: errorTrailers(appError) };
}

/** Reads trace context from metadata. */
const metadataGetter: TextMapGetter<Metadata> = {
  keys: (metadata) => Object.keys(metadata.getMap()),
  get: (metadata, key) => metadata.get(key).map(String),
};
