// Wraps every method of a service object. This is the only middleware mechanism, for unary and streaming methods, and for
// services over gRPC and local clients alike.
import { type CallContext, consumerLeft } from '#client/call-context.js';
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

/** What a decorator does around one call. */
export interface CallScope {
  /** The context for the rest of the chain and the method. */
  readonly context: CallContext;
  /** Runs a step of the method: all of a unary method, or one message of a stream. Absent: nothing to do around steps. */
  readonly within?: <T>(step: () => T) => T;
  /** Called when the call has ended. Returns the error to raise instead of `error`; the result is ignored when there was none. */
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
    const begin = chain(decorators.map((decorator) => decorator(info)));
    const handler = handlerOf(service, info);
    decorated[info.key] = info.definition.responseStream ? stream(handler, begin) : unary(handler, begin);
  }
  return decorated as unknown as Pick<ServiceOf<D>, K>;
}

type Begin = (context: CallContext, request: unknown) => Required<CallScope> | Promise<Required<CallScope>>;

/** Combines scopes: they begin with the outermost and end with the innermost. */
function chain(begins: readonly ReturnType<Decorator>[]): Begin {
  return (outer, request) => {
    const scopes: CallScope[] = [];
    let context = outer;
    let within: <T>(step: () => T) => T = (step) => step();
    const end = (error: unknown): unknown => {
      let current = error;
      for (const scope of scopes.splice(0).reverse()) {
        if (scope.end === undefined) continue;
        const replaced = scope.end(current);
        if (current !== undefined) current = replaced;
      }
      return current;
    };
    const fail = (error: unknown): never => {
      throw end(error);
    };
    const enter = (scope: CallScope): void => {
      scopes.push(scope);
      context = scope.context;
      if (scope.within !== undefined) within = nest(within, scope.within);
    };
    const beginFrom = (first: number): Required<CallScope> | Promise<Required<CallScope>> => {
      for (let index = first; index < begins.length; index += 1) {
        const scope = begins[index]!(context, request);
        if (scope instanceof Promise) {
          return scope.then((begun) => {
            enter(begun);
            return beginFrom(index + 1);
          });
        }
        enter(scope);
      }
      return { context, within, end };
    };
    try {
      const begun = beginFrom(0);
      return begun instanceof Promise ? begun.catch(fail) : begun;
    } catch (error) {
      return fail(error);
    }
  };
}

function nest(outer: <T>(step: () => T) => T, inner: <T>(step: () => T) => T): <T>(step: () => T) => T {
  return (step) => outer(() => inner(step));
}

function unary(handler: UnaryHandler, begin: Begin): UnaryHandler {
  return async (request, context) => {
    const begun = begin(context, request);
    const scope = begun instanceof Promise ? await begun : begun;
    try {
      const response = await scope.within(() => handler(request, scope.context));
      scope.end(undefined);
      return response;
    } catch (error) {
      throw scope.end(error);
    }
  };
}

function stream(handler: StreamHandler, begin: Begin): StreamHandler {
  return async function* (request, context) {
    const begun = begin(context, request);
    const scope = begun instanceof Promise ? await begun : begun;
    let iterator: AsyncIterator<unknown> | undefined;
    let failure: unknown;
    let over = false;
    try {
      const producer = scope.within(() => handler(request, scope.context)[Symbol.asyncIterator]());
      iterator = producer;
      for (;;) {
        const result = await scope.within(() => producer.next());
        if (result.done === true) break;
        yield result.value;
      }
      over = true;
    } catch (error) {
      over = true;
      failure = error;
    } finally {
      // Neither ended nor failed: the consumer disconnected, and the producer's own `finally` must run.
      if (!over) failure = await scope.within(() => leave(iterator));
      failure = scope.end(failure);
    }
    if (failure !== undefined) throw failure;
  };
}

/** Lets the producer clean up. Returns the error that this raised, or else the consumer's disconnect. */
async function leave(iterator: AsyncIterator<unknown> | undefined): Promise<unknown> {
  try {
    await iterator?.return?.();
    return consumerLeft;
  } catch (error) {
    return error;
  }
}
