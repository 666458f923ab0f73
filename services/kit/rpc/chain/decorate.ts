// Wraps every method of a service object. This is the only middleware mechanism, for unary and streaming methods, and for
// services over gRPC and local clients alike.
import { type CallContext, consumerDisconnected } from '#client/call-context.js';
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
import { hasReason } from '#client/errors/app-error.js';
import { Responses } from '../responses.js';

/** What a decorator does around one call. */
export interface CallScope {
  /** The context for the rest of the chain and the method. */
  readonly context: CallContext;
  /** Runs a step of the method: all of a unary method, or one message of a stream. Absent: nothing to do around steps. */
  readonly within?: <T>(step: () => T) => T;
  /**
   * Called when the call has ended. Returns the error to raise instead of `error`, which is undefined if there was none: a stream can end with an error
   * though its method has returned.
   */
  readonly end?: (error: unknown) => unknown;
}

/**
 * Called once per method when a service is decorated; the result is called once per call, with the request (an `AsyncIterable` when the
 * method streams its requests). To refuse the call, it throws. Only a decorator that must wait before it can admit a call returns
 * a promise: most calls are cheaper without one.
 */
export type Decorator = (method: MethodInfo) => (context: CallContext, request: unknown) => CallScope | Promise<CallScope>;

/** Returns the service behind these decorators, the first one outermost. */
export function decorate<D extends ServiceDefinition>(
  definition: D,
  service: ServiceOf<D>,
  decorators: readonly Decorator[],
): ServiceOf<D> {
  return decorateSome(definition, service, Object.keys(definition.methods), decorators);
}

/** Like `decorate`, for some methods of a service. */
export function decorateSome<D extends ServiceDefinition, K extends keyof D['methods']>(
  definition: D,
  service: Pick<ServiceOf<D>, K>,
  keys: readonly K[],
  decorators: readonly Decorator[],
): Pick<ServiceOf<D>, K> {
  const decorated: UntypedService = {};
  for (const info of methodsOf(definition)) {
    if (!(keys as readonly string[]).includes(info.key)) continue;
    const begins = decorators.map((decorator) => decorator(info));
    const handler = handlerOf(service, info);
    decorated[info.key] = info.definition.responseStream ? stream(handler, begins) : unary(handler, begins);
  }
  return decorated as unknown as Pick<ServiceOf<D>, K>;
}

/** The scopes of one call: the outermost begins first and ends last. */
class Chain {
  readonly #scopes: CallScope[] = [];

  constructor(public context: CallContext) {}

  /** Begins the scopes from the `index`th on. Ends those that have begun when one refuses the call. */
  begin(begins: readonly ReturnType<Decorator>[], request: unknown, index = 0): Promise<void> | undefined {
    try {
      for (let next = index; next < begins.length; next += 1) {
        const scope = begins[next]!(this.context, request);
        if (scope instanceof Promise) {
          return scope
            .catch((error: unknown) => {
              throw this.end(error);
            })
            .then((begun) => {
              this.#enter(begun);
              return this.begin(begins, request, next + 1);
            });
        }
        this.#enter(scope);
      }
      return undefined;
    } catch (error) {
      throw this.end(error);
    }
  }

  /** Runs a step of the method within all scopes. */
  within<T>(step: () => T): T {
    let run = step;
    for (let index = this.#scopes.length - 1; index >= 0; index -= 1) {
      const { within } = this.#scopes[index]!;
      if (within === undefined) continue;
      const inner = run;
      run = () => within(inner);
    }
    return run();
  }

  /** Ends the scopes, and returns the error to raise; undefined if there was none. */
  end(error: unknown): unknown {
    let current = error;
    for (let scope = this.#scopes.pop(); scope !== undefined; scope = this.#scopes.pop()) {
      if (scope.end !== undefined) current = scope.end(current);
    }
    return current;
  }

  #enter(scope: CallScope): void {
    this.#scopes.push(scope);
    this.context = scope.context;
  }
}

function unary(handler: UnaryHandler, begins: readonly ReturnType<Decorator>[]): UnaryHandler {
  return async (request, context) => {
    const chain = new Chain(context);
    const beginning = chain.begin(begins, request);
    if (beginning !== undefined) await beginning;
    try {
      const response = await chain.within(() => handler(request, chain.context));
      chain.end(undefined);
      return response;
    } catch (error) {
      throw chain.end(error);
    }
  };
}

function stream(handler: StreamHandler, begins: readonly ReturnType<Decorator>[]): StreamHandler {
  return (request, context) => new DecoratedStream(handler, begins, request, context);
}

/** The responses of one call. An async generator would do the same, but at several times the cost per message. */
class DecoratedStream extends Responses {
  readonly #chain: Chain;
  #producer: AsyncIterator<unknown> | undefined;

  constructor(
    private readonly handler: StreamHandler,
    private readonly begins: readonly ReturnType<Decorator>[],
    private readonly request: unknown,
    context: CallContext,
  ) {
    super();
    this.#chain = new Chain(context);
  }

  protected begin(): Promise<void> | undefined {
    const beginning = this.#chain.begin(this.begins, this.request);
    if (beginning !== undefined) return beginning.then(() => this.#open());
    this.#open();
    return undefined;
  }

  #open(): void {
    const chain = this.#chain;
    try {
      this.#producer = chain.within(() => this.handler(this.request, chain.context)[Symbol.asyncIterator]());
    } catch (error) {
      throw chain.end(error);
    }
  }

  protected read(): Promise<IteratorResult<unknown>> {
    try {
      return this.#chain.within(this.#step).then(this.#onResult, this.#onFailure);
    } catch (error) {
      return Promise.reject(this.#chain.end(error));
    }
  }

  readonly #step = (): Promise<IteratorResult<unknown>> => this.#producer!.next();

  readonly #onResult = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done !== true) return result;
    const { signal } = this.#chain.context;
    // A producer that ends because its deadline has passed has not finished.
    const late = signal.aborted && hasReason(signal.reason, 'deadline_exceeded') ? signal.reason : undefined;
    const error = this.#chain.end(late);
    if (error !== undefined) throw error;
    return result;
  };

  readonly #onFailure = (error: unknown): never => {
    throw this.#chain.end(error);
  };

  /** The consumer disconnected: the producer's own `finally` must run. */
  protected async onDisconnect(): Promise<void> {
    this.#chain.end(await this.#chain.within(() => closeProducer(this.#producer)));
  }
}

/** Lets the producer clean up. Returns the error that this raised, or else the consumer's disconnect. */
async function closeProducer(iterator: AsyncIterator<unknown> | undefined): Promise<unknown> {
  try {
    await iterator?.return?.();
    return consumerDisconnected;
  } catch (error) {
    return error;
  }
}
