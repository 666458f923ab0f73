// A client of a service in this same process. Every message passes through the real codec both ways, and every error through its
// wire form, so that neither side can hold the other's objects and both see what they would see over gRPC.
import { abortError, type AppError, decodeAppError, encodeAppError, toAppError } from '../errors/app-error.js';
import { type CallContext, callContext, consumerLeft, neverAborted } from './call-context.js';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from './codec.js';
import { handlerOf, type MethodInfo, methodsOf, type ServiceDefinition, type ServiceOf, type StreamHandler, type UnaryHandler, type UntypedService } from './definition.js';

/** Options of `localClient`. */
export interface LocalClientOptions {
  /** Name under which this client calls, as `dialGrpc` has it; the service sees it as `context.caller`. */
  caller: string;
}

/** A client of `service`. Raises what the service raises; an error that is not an `AppError` becomes internal with a fixed text. */
export function localClient<D extends ServiceDefinition>(definition: D, service: ServiceOf<D>, options: LocalClientOptions): ServiceOf<D> {
  const client: UntypedService = {};
  for (const info of methodsOf(definition)) {
    const handler = handlerOf(service, info);
    client[info.key] = info.definition.responseStream ? stream(info, handler, options.caller) : unary(info, handler, options.caller);
  }
  return client as ServiceOf<D>;
}

function unary(info: MethodInfo, handler: UnaryHandler, caller: string): UnaryHandler {
  return async (request, context) => {
    try {
      const inner = contextFor(caller, context);
      const received = decodeRequest(info, encodeRequest(info, request));
      const response = await unlessAborted(inner.signal, handler(received, inner));
      return decodeResponse(info, encodeResponse(info, response));
    } catch (error) {
      throw crossed(error);
    }
  };
}

function stream(info: MethodInfo, handler: StreamHandler, caller: string): StreamHandler {
  return async function* (request, context) {
    const outer = contextFor(caller, context);
    // Its own signal tells the producer that the consumer left, which the outer one does not know.
    const call = new AbortController();
    let failPending: ((error: AppError) => void) | undefined;
    const onAbort = (): void => {
      call.abort(outer.signal.reason);
      failPending?.(abortError(outer.signal));
    };
    let iterator: AsyncIterator<unknown> | undefined;
    let ended = false;
    try {
      const received = decodeRequest(info, encodeRequest(info, request));
      outer.signal.addEventListener('abort', onAbort, { once: true });
      const producer = handler(received, { ...outer, signal: call.signal })[Symbol.asyncIterator]();
      iterator = producer;
      for (;;) {
        if (outer.signal.aborted) throw abortError(outer.signal);
        // One message at a time: a consumer that stalls holds the producer at its next message.
        const result = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
          failPending = reject;
          producer.next().then(resolve, reject);
        });
        if (result.done === true) break;
        yield decodeResponse(info, encodeResponse(info, result.value));
      }
      ended = true;
    } catch (error) {
      throw crossed(error);
    } finally {
      outer.signal.removeEventListener('abort', onAbort);
      if (!ended) {
        call.abort(consumerLeft);
        // As over gRPC, the consumer does not wait for the producer's clean-up and does not hear of its faults.
        iterator?.return?.().catch(() => {});
      }
    }
  };
}

/** The context as the service gets it. Raises deadline_exceeded or cancelled when it is over before it began. */
function contextFor(caller: string, context: CallContext | undefined): CallContext {
  if (context === undefined) return callContext({ caller });
  if (context.signal.aborted) throw abortError(context.signal);
  return { ...context, caller };
}

function unlessAborted<T>(signal: AbortSignal, pending: Promise<T>): Promise<T> {
  if (signal === neverAborted) return pending;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    // The method's first steps, which ran already, may have led to it.
    if (signal.aborted) onAbort();
    const settled = (): void => signal.removeEventListener('abort', onAbort);
    pending.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}

/** The error as the other side sees it: another object, without its cause. */
function crossed(error: unknown): AppError {
  return decodeAppError(encodeAppError(toAppError(error)))!;
}
