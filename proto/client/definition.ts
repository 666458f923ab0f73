// The shape of the definitions that ts-proto generates for a service (outputServices=generic-definitions), on which every transport is
// built.
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { CallContext } from './call-context.js';

/** The codec of one message type. */
export interface MessageType {
  /** `writer` must be empty; `finish` empties it again. */
  encode(message: never, writer?: BinaryWriter): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  /** Returns the message with the proto3 default in each missing field. */
  fromPartial(message: never): unknown;
}

/** One RPC. */
export interface MethodDefinition {
  /** As in the .proto file: "GetBalance". */
  readonly name: string;
  readonly requestType: MessageType;
  readonly requestStream: boolean;
  readonly responseType: MessageType;
  readonly responseStream: boolean;
  /** The method options that transports apply. */
  readonly options?: { readonly idempotencyLevel?: 'IDEMPOTENT' | 'NO_SIDE_EFFECTS'; readonly _unknownFields?: object };
}

/** One service; the methods are keyed as in the generated interface: "getBalance". */
export interface ServiceDefinition {
  readonly name: string;
  /** With its package: "tollgate.ledger.v1.LedgerService". */
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

/** The message type that a codec decodes. */
export type MessageOf<T> = T extends { decode(bytes: Uint8Array): infer Message } ? Message : never;

type RequestOf<M extends MethodDefinition> = M['requestStream'] extends true
  ? AsyncIterable<MessageOf<M['requestType']>>
  : MessageOf<M['requestType']>;

type ResponseOf<M extends MethodDefinition> = M['responseStream'] extends true
  ? AsyncIterable<MessageOf<M['responseType']>>
  : Promise<MessageOf<M['responseType']>>;

// A method signature makes the parameters bivariant, as in the generated interfaces, where an implementation may require the
// context that callers may omit.
type MethodOf<M extends MethodDefinition> = {
  method(request: RequestOf<M>, context?: CallContext): ResponseOf<M>;
}['method'];

/** The generated interface of a definition: `ServiceOf<typeof LedgerServiceDefinition>` is the shape of `LedgerService`. */
export type ServiceOf<D extends ServiceDefinition> = { [K in keyof D['methods']]: MethodOf<D['methods'][K]> };

type PartialOf<T> = T extends { fromPartial(message: infer Partial): unknown } ? Partial : never;

type PartialRequestOf<M extends MethodDefinition> = M['requestStream'] extends true
  ? AsyncIterable<PartialOf<M['requestType']>>
  : PartialOf<M['requestType']>;

/**
 * The client of a definition. Requests may omit any field, which then has its proto3 default, so that a new field of the contract does not
 * break a caller's build.
 */
export type ClientOf<D extends ServiceDefinition> = {
  [K in keyof D['methods']]: (request: PartialRequestOf<D['methods'][K]>, context?: CallContext) => ResponseOf<D['methods'][K]>;
};

/** An untyped unary method. */
export type UnaryHandler = (request: unknown, context: CallContext) => Promise<unknown>;

/** An untyped method that streams its responses; when it streams its requests too, the request is an `AsyncIterable`. */
export type StreamHandler = (request: unknown, context: CallContext) => AsyncIterable<unknown>;

/** An untyped service or client object, as the generic code handles it. */
export type UntypedService = Record<string, UnaryHandler | StreamHandler>;

/** One method and its names. */
export interface MethodInfo {
  /** The key in the generated interface: "getBalance". */
  readonly key: string;
  /** "tollgate.ledger.v1.LedgerService/GetBalance", as gRPC paths and spans name it. */
  readonly fullName: string;
  readonly definition: MethodDefinition;
}

/**
 * Returns the methods of a definition. Throws for a method that streams its requests and returns a single response: no contract has one, so
 * no transport supports it.
 */
export function methodsOf(definition: ServiceDefinition): MethodInfo[] {
  return Object.entries(definition.methods).map(([key, method]) => {
    if (method.requestStream && !method.responseStream) {
      throw new Error(`${definition.fullName}/${method.name} streams its requests only, which the kit does not carry.`);
    }
    return { key, fullName: `${definition.fullName}/${method.name}`, definition: method };
  });
}

/** Returns the method's implementation, bound to its service. Throws when there is none. */
export function handlerOf(service: object, info: MethodInfo): UnaryHandler & StreamHandler {
  const handler = (service as Record<string, unknown>)[info.key];
  if (typeof handler !== 'function') throw new Error(`${info.fullName} has no implementation.`);
  return handler.bind(service) as UnaryHandler & StreamHandler;
}
