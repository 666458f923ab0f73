// The calling side of a batch method (batch-contract.ts): an ordinary client, some of whose unary methods are sent in batches
// on one long-lived stream.
import type { BatchRequest, BatchResponse } from './batch-contract.js';
import { type BatchLog, BatchStream } from './batch-stream.js';
import { tracedUnary } from '../client-span.js';
import {
  type MessageOf,
  methodsOf,
  type ServiceDefinition,
  type ServiceOf,
  type StreamHandler,
  type UntypedService,
} from '../definition.js';
import { type CallingOptions, withRetries } from '../retries.js';

/** The methods of a definition that have the shape of batch-contract.ts. */
type BatchMethod<D extends ServiceDefinition> = {
  [K in keyof D['methods']]: MessageOf<D['methods'][K]['requestType']> extends BatchRequest
    ? MessageOf<D['methods'][K]['responseType']> extends BatchResponse
      ? K
      : never
    : never;
}[keyof D['methods']];

/** The names of the unary methods that a batch method carries. */
type CaseOf<D extends ServiceDefinition, S extends keyof D['methods']> =
  MessageOf<D['methods'][S]['requestType']> extends { operations: readonly { operation?: infer Operation }[] }
    ? NonNullable<Operation> extends { $case: infer Name }
      ? Name & keyof D['methods'] & string
      : never
    : never;

/** Options of `batchClient`. */
export interface BatchClientOptions<S, K> extends CallingOptions {
  /** The method that carries the others. */
  readonly method: S;
  /** The methods that it carries; the rest of the client is unchanged. */
  readonly operations: readonly K[];
  readonly log: BatchLog;
  /** How long one stream is used before the next one takes over; half a minute by default. */
  readonly renewMs?: number;
}

/** The batching client, and a function that closes it. */
export interface BatchClient<Service> {
  readonly client: Service;
  /** Aborts the calls in flight; the next operation opens the stream again. */
  close(): void;
}

/**
 * Returns a client whose `operations` are sent in batches: the calls of one turn of the event loop in one message, without delay. They
 * raise what the methods raise, overloaded when too many operations have no result yet, and service_unavailable when the stream breaks;
 * their result is then unknown.
 */
export function batchClient<D extends ServiceDefinition, S extends BatchMethod<D>, K extends CaseOf<D, S>>(
  definition: D,
  client: ServiceOf<D>,
  options: BatchClientOptions<S, K>,
): BatchClient<ServiceOf<D>> {
  const info = methodsOf(definition).find(({ key }) => key === options.method)!;
  const open = (client as UntypedService)[info.key] as StreamHandler;
  const { caller, log, renewMs, timeoutMs } = options;
  const stream = new BatchStream({
    info,
    open: (requests, context) => open(requests, context) as AsyncIterable<BatchResponse>,
    caller,
    log,
    timeoutMs,
    ...(renewMs === undefined ? {} : { renewMs }),
  });
  const batched: UntypedService = { ...(client as UntypedService) };
  for (const operation of methodsOf(definition)) {
    const { key, fullName } = operation;
    if (!(options.operations as readonly string[]).includes(key)) continue;
    const once = tracedUnary(fullName, (request, context) => stream.call({ $case: key, value: request }, context));
    batched[key] = withRetries(operation, once, options);
  }
  return { client: batched as ServiceOf<D>, close: () => stream.close() };
}
