// One connection per process, and a typed client per service.
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { batchClient } from './batch/batch-client.js';
import type { BatchLog } from './batch/batch-stream.js';
import { type CallContext, callContext } from './call-context.js';
import { type ClientOf, handlerOf, methodsOf, type ServiceDefinition, type ServiceOf } from './definition.js';
import { dialGrpc, type GrpcConnection } from './grpc/grpc-client.js';
import type { Tls } from './tls.js';

/** The processes of a distributed installation, each with its own address. */
export interface Processes {
  readonly auth: string;
  readonly catalog: string;
  readonly inference: string;
  readonly ledger: string;
  readonly metering: string;
}

/** Options of `connect`. */
export interface ConnectOptions {
  /** "host:port", or "unix:/path", of all services; or the address of each process. A name may stand for many replicas: dns:///host:port. */
  readonly address: string | Partial<Processes>;
  /**
   * The caller's certificate; see `readTls`. Without it nothing is encrypted, which servers accept only on loopback addresses, on Unix
   * sockets and in networks that they are configured to trust.
   */
  readonly tls?: Tls;
  /** The caller's name when there is no certificate; "client" by default. */
  readonly caller?: string;
  /** The deadline of a call that has none of its own; 30 s by default. */
  readonly timeoutMs?: number;
  /** Maximum number of attempts of an idempotent call when the service is unavailable; 3 by default. */
  readonly attempts?: number;
  /**
   * Sends ledger.hold, checkpoint, settle and release and metering.recordUsage in batches on one stream per process, for callers that make
   * many of these calls.
   */
  readonly batch?: boolean;
  /** Where batch streams log that they broke; not logged by default. */
  readonly log?: BatchLog;
}

/** The clients of an installation. They raise `TollgateError`. */
export interface Tollgate {
  readonly auth: ClientOf<typeof AuthServiceDefinition>;
  readonly callers: ClientOf<typeof CallerServiceDefinition>;
  readonly users: ClientOf<typeof UserServiceDefinition>;
  readonly notifications: ClientOf<typeof NotificationServiceDefinition>;
  readonly webhooks: ClientOf<typeof WebhookServiceDefinition>;
  readonly catalog: ClientOf<typeof CatalogServiceDefinition>;
  readonly inference: ClientOf<typeof InferenceServiceDefinition>;
  readonly ledger: ClientOf<typeof LedgerServiceDefinition>;
  readonly alerts: ClientOf<typeof AlertServiceDefinition>;
  readonly payments: ClientOf<typeof PaymentServiceDefinition>;
  readonly metering: ClientOf<typeof MeteringServiceDefinition>;
  /** Closes every connection. Calls in flight fail with cancelled. */
  close(): void;
}

const silent: BatchLog = { info: () => {}, warn: () => {} };

/** Returns the clients of an installation. Connects when a client is first used, and reconnects when a connection is lost. */
export function connect(options: ConnectOptions): Tollgate {
  const { address, caller = 'client', attempts = 3, log = silent, tls, timeoutMs } = options;
  const connections = new Map<string, GrpcConnection>();
  const closers: (() => void)[] = [];

  function to(process: keyof Processes): GrpcConnection {
    const target = typeof address === 'string' ? address : address[process];
    if (target === undefined) throw new TypeError(`connect: address.${process} is missing.`);
    const connection =
      connections.get(target) ??
      dialGrpc(target, {
        caller,
        attempts,
        ...(tls === undefined ? {} : { tls }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        // A single address may be that of a proxy, whose certificate does not name the service.
        ...(typeof address === 'string' ? {} : { service: process }),
      });
    connections.set(target, connection);
    return connection;
  }

  const complete = <D extends ServiceDefinition>(process: keyof Processes, definition: D): ClientOf<D> =>
    completing(definition, to(process).client(definition));

  function ledger(): Tollgate['ledger'] {
    const client = to('ledger').client(LedgerServiceDefinition);
    if (options.batch !== true) return completing(LedgerServiceDefinition, client);
    const operations = ['hold', 'checkpoint', 'settle', 'release'] as const;
    const batched = batchClient(LedgerServiceDefinition, client, { method: 'batch', operations, caller, log, timeoutMs, attempts });
    closers.push(batched.close);
    return completing(LedgerServiceDefinition, batched.client);
  }

  function metering(): Tollgate['metering'] {
    const client = to('metering').client(MeteringServiceDefinition);
    if (options.batch !== true) return completing(MeteringServiceDefinition, client);
    const batched = batchClient(MeteringServiceDefinition, client, {
      method: 'batch',
      operations: ['recordUsage'],
      caller,
      log,
      timeoutMs,
      attempts,
    });
    closers.push(batched.close);
    return completing(MeteringServiceDefinition, batched.client);
  }

  return lazy({
    auth: () => complete('auth', AuthServiceDefinition),
    callers: () => complete('auth', CallerServiceDefinition),
    users: () => complete('auth', UserServiceDefinition),
    notifications: () => complete('auth', NotificationServiceDefinition),
    webhooks: () => complete('auth', WebhookServiceDefinition),
    catalog: () => complete('catalog', CatalogServiceDefinition),
    inference: () => complete('inference', InferenceServiceDefinition),
    ledger,
    alerts: () => complete('ledger', AlertServiceDefinition),
    payments: () => complete('ledger', PaymentServiceDefinition),
    metering,
    close: () => () => {
      for (const close of closers) close();
      for (const connection of connections.values()) connection.close();
    },
  });
}

/** Returns the client with requests that may leave out fields. */
function completing<D extends ServiceDefinition>(definition: D, client: ServiceOf<D>): ClientOf<D> {
  const methods = methodsOf(definition).map((info) => {
    const send = handlerOf(client, info);
    const { requestType, requestStream } = info.definition;
    const complete = (request: unknown): unknown => requestType.fromPartial(request as never);
    const method = (request: unknown, context: CallContext) =>
      send(requestStream ? completed(request as AsyncIterable<unknown>, complete) : complete(request), context);
    return [info.key, method];
  });
  return Object.fromEntries(methods) as ClientOf<D>;
}

async function* completed(requests: AsyncIterable<unknown>, complete: (request: unknown) => unknown): AsyncGenerator {
  for await (const request of requests) yield complete(request);
}

/** Returns an object whose properties are created when they are first read. */
function lazy<T extends object>(makers: { readonly [K in keyof T]: () => T[K] }): T {
  const made = {} as T;
  for (const key of Object.keys(makers) as (keyof T)[]) {
    Object.defineProperty(made, key, {
      enumerable: true,
      configurable: true,
      get(): T[keyof T] {
        const value = makers[key]();
        Object.defineProperty(made, key, { value, enumerable: true });
        return value;
      },
    });
  }
  return made;
}

/** Options of one call, as its second argument. */
export interface CallOptions {
  /** The deadline: the call fails with deadline_exceeded after this many milliseconds. */
  readonly timeoutMs?: number;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** The actor token of the user on whose behalf the caller acts. */
  readonly actorToken?: string;
}

/** Returns the second argument of a call: `ledger.getBalance(request, callOptions({ timeoutMs: 500 }))`. */
export function callOptions(options: CallOptions): CallContext {
  return callContext({ caller: 'client', ...options });
}
