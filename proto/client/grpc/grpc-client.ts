// Clients of services in other processes, with the same types as the services themselves.
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  experimental,
  Metadata,
  type ServiceError,
  type VerifyOptions,
} from '@grpc/grpc-js';
import { abortError, AppError } from '../errors/app-error.js';
import { type CallContext, callContext, consumerDisconnected } from '../call-context.js';
import { decodeResponse, encodeRequest } from '../codec.js';
import {
  type MethodInfo,
  methodsOf,
  type ServiceDefinition,
  type ServiceOf,
  type StreamHandler,
  type UnaryHandler,
  type UntypedService,
} from '../definition.js';
import { InFlight } from '../in-flight.js';
import { certificateProvider } from './certificate-provider.js';
import { dnsRefreshOption, refreshedTarget } from './dns-refresh.js';
import { actorKey, callerKey, commonChannelOptions, fromServiceError, keepalive } from './grpc-wire.js';
import { type CallingOptions, withDeadline, withRetries } from '../retries.js';
import { injectTraceContext } from '../traceparent.js';
import { serverAddressOf, tracedStream, tracedUnary } from '../client-span.js';
import { readAhead } from './read-ahead.js';
import { serverIdentityCheck } from './server-identity.js';
import { pump } from './stream-pump.js';
import type { Tls } from '../tls.js';
import { TlsFiles } from '../tls-files.js';

/** Options of `dialGrpc`. Under TLS the certificate identifies the caller instead of its name. */
export interface DialGrpcOptions extends CallingOptions {
  tls?: Tls;
  /** The service that the server's certificate must name, under TLS; absent: any certificate of the authority for the host is accepted. */
  service?: string;
  /** The name that the server's certificate must have, where the address is not that name. */
  serverName?: string;
  /** How often a name is looked up, so that added replicas are found; every 10 s by default. */
  dnsRefreshMs?: number;
  /** How often the connection is tested while calls are in flight, and how long a test may take; 5 s and 10 s by default. */
  keepaliveMs?: readonly [everyMs: number, timeoutMs: number];
}

/** A connection to a server, opened when first needed and reopened when lost. */
export interface GrpcConnection {
  /**
   * Returns a client of one of its services. It raises what the service raises, and service_unavailable when the server cannot be reached.
   */
  client<D extends ServiceDefinition>(definition: D): ServiceOf<D>;
  /** Aborts the calls in flight. */
  close(): void;
}

const channelOptions = {
  ...commonChannelOptions,
  // Nothing reads these statistics on a client. A server needs them to close its connections.
  'grpc.enable_channelz': 0,
  // A name may resolve to many replicas (dns:///ledger:7101): each gets its share.
  'grpc.service_config_disable_resolution': 1,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // grpc-js waits 1 s and then up to 120 s between attempts; a service that is back should be found quickly.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
} as const;

/** Returns a connection to "host:port", "unix:/path" or a list of them in grpc-js's target syntax. Does not wait for the server. */
export function dialGrpc(address: string, options: DialGrpcOptions): GrpcConnection {
  const { tls, service, serverName, dnsRefreshMs, keepaliveMs } = options;
  const check = service === undefined ? checkServerIdentity : serverIdentityCheck(service);
  const ip = serverName === undefined ? ipOf(address) : undefined;
  // grpc-js can send no TLS server name but the host of the address, which must not be an IP address (https://www.rfc-editor.org/rfc/rfc6066#section-3),
  // or a given name. The certificate must have the IP address in any case.
  const verify = { checkServerIdentity: ip === undefined ? check : (_name: string, cert: PeerCertificate) => check(ip, cert) };
  const named =
    serverName === undefined
      ? ip !== undefined && { 'grpc.ssl_target_name_override': service ?? 'localhost' }
      : { 'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': serverName };
  const refresh = dnsRefreshMs === undefined ? {} : { [dnsRefreshOption]: dnsRefreshMs };
  const tested = keepaliveMs === undefined ? {} : keepalive(...keepaliveMs);
  const channel = new Channel(refreshedTarget(address), credentialsFor(tls, verify), {
    ...channelOptions,
    ...named,
    ...refresh,
    ...tested,
  });
  const server = serverAddressOf(address);
  return {
    client<D extends ServiceDefinition>(definition: D): ServiceOf<D> {
      const client: UntypedService = {};
      for (const info of methodsOf(definition)) {
        const once = tracedUnary(info.fullName, callUnary(channel, info, options), server);
        if (info.definition.responseStream) client[info.key] = tracedStream(info.fullName, callStream(channel, info, options), server);
        else client[info.key] = withRetries(info, once, options);
      }
      return client as ServiceOf<D>;
    },
    close: () => channel.close(),
  };
}

/** Returns the IP address in an address, the first one in a list; undefined if there is a name. */
function ipOf(address: string): string | undefined {
  const [first = ''] = address.replace(/^(?:dns:(?:\/\/[^/]*\/)?|ipv[46]:)/, '').split(',');
  const { host } = experimental.splitHostPort(first) ?? { host: '' };
  return isIP(host) === 0 ? undefined : host;
}

function credentialsFor(tls: Tls | undefined, verify: VerifyOptions): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if (!(tls instanceof TlsFiles)) return credentials.createSsl(tls.ca, tls.key, tls.cert, verify);
  const provider = certificateProvider(tls);
  return experimental.createCertificateProviderChannelCredentials(provider, provider, verify);
}

/** A channel of grpc-js, which by itself lets calls in flight continue after it was closed, and so a watch forever. */
class Channel extends Client {
  readonly #calls = new InFlight<{ cancel(): void }>();
  #lastNumber = 0;
  #isClosed = false;

  /** Returns the number of a call that begins. Raises cancelled if the channel is closed. */
  begin(): number {
    if (this.#isClosed) throw closed();
    return (this.#lastNumber += 1);
  }

  /** Notes a call in flight. */
  began(number: number, call: { cancel(): void }): void {
    this.#calls.set(number, call);
  }

  ended(number: number): void {
    this.#calls.delete(number);
  }

  /** Returns the error of a failed call. `signal` is the caller's. */
  errorOf(error: ServiceError, rpc: string, signal: AbortSignal): AppError {
    return this.#isClosed ? closed() : fromServiceError(error, rpc, signal);
  }

  /** Cancels the calls in flight. */
  override close(): void {
    this.#isClosed = true;
    for (const call of this.#calls.values()) call.cancel();
    super.close();
  }
}

function closed(): AppError {
  return new AppError('cancelled', 'This client was closed.');
}

const passThrough = (bytes: Buffer): Buffer => bytes;

function callUnary(channel: Channel, info: MethodInfo, options: DialGrpcOptions): UnaryHandler {
  const path = `/${info.fullName}`;
  return async (request, given) => {
    const context = withDeadline(given, options);
    if (context.signal.aborted) throw abortError(context.signal);
    const message = encodeRequest(info, request);
    const response = await new Promise<Buffer>((resolve, reject) => {
      const onAbort = (): void => call.cancel();
      const metadata = metadataFor(options, context);
      const number = channel.begin();
      const onEnd = (error: ServiceError | null, bytes?: Buffer): void => {
        channel.ended(number);
        context.signal.removeEventListener('abort', onAbort);
        if (error === null) resolve(bytes!);
        else reject(channel.errorOf(error, info.fullName, context.signal));
      };
      const call = withoutStackTrace(() =>
        channel.makeUnaryRequest(path, passThrough, passThrough, message, metadata, { deadline: context.deadlineMs! }, onEnd),
      );
      channel.began(number, call);
      context.signal.addEventListener('abort', onAbort, { once: true });
    });
    return decodeResponse(info, response);
  };
}

function callStream(channel: Channel, info: MethodInfo, options: DialGrpcOptions): StreamHandler {
  const path = `/${info.fullName}`;
  return async function* (request, given) {
    const context = given ?? callContext({ caller: options.caller });
    if (context.signal.aborted) throw abortError(context.signal);
    const callOptions: CallOptions = context.deadlineMs === undefined ? {} : { deadline: context.deadlineMs };
    const metadata = metadataFor(options, context);
    const number = channel.begin();
    let call: ClientReadableStream<Buffer>;
    let sending: Sending | undefined;
    if (info.definition.requestStream) {
      const duplex = channel.makeBidiStreamRequest(path, passThrough, passThrough, metadata, callOptions);
      sending = send(info, request as AsyncIterable<unknown>, duplex);
      call = duplex;
    } else {
      const message = encodeRequest(info, request);
      call = withoutStackTrace(() => channel.makeServerStreamRequest(path, passThrough, passThrough, message, metadata, callOptions));
    }
    channel.began(number, call);
    const onAbort = (): void => call.cancel();
    context.signal.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const bytes of readAhead(call)) {
        // Responses that the caller has not read yet are dropped, as by the other transports: an account pays only for the part of an answer that is read.
        if (context.signal.aborted) throw abortError(context.signal);
        yield decodeResponse(info, bytes);
      }
    } catch (error) {
      const failed = sending?.failure();
      if (failed !== undefined) throw failed.error;
      throw isServiceError(error) ? channel.errorOf(error, info.fullName, context.signal) : error;
    } finally {
      channel.ended(number);
      context.signal.removeEventListener('abort', onAbort);
      sending?.stop();
      call.cancel();
    }
  };
}

/**
 * Starts a call without the stack trace that grpc-js captures for its errors: it costs a tenth of a call, and we convert those errors.
 */
function withoutStackTrace<T>(start: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return start();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Requests on their way to a service. */
interface Sending {
  /** Stops sending and closes their iterator. */
  stop(): void;
  /** Returns the error of their iterator if it failed; the call is then cancelled. */
  failure(): { readonly error: unknown } | undefined;
}

function send(info: MethodInfo, requests: AsyncIterable<unknown>, call: ClientDuplexStream<Buffer, Buffer>): Sending {
  const stopping = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  pump(requests, call, stopping.signal, (request) => encodeRequest(info, request)).then(
    () => call.end(),
    (error: unknown) => {
      if (stopping.signal.aborted) return;
      failure = { error };
      call.cancel();
    },
  );
  return { stop: () => stopping.abort(consumerDisconnected), failure: () => failure };
}

function isServiceError(error: unknown): error is ServiceError {
  return typeof error === 'object' && error !== null && 'code' in error && 'metadata' in error;
}

function metadataFor(options: DialGrpcOptions, { actorToken }: CallContext): Metadata {
  const metadata = new Metadata();
  metadata.set(callerKey, options.caller);
  if (actorToken !== undefined) metadata.set(actorKey, actorToken);
  injectTraceContext(metadata);
  return metadata;
}
