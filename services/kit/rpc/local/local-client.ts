// A client of a service in the same process. Calls, cancellation, deadlines and errors behave as over gRPC. A call has no client span, because it would
// repeat the span of the service.
import { AppError, toAppError } from '#client/errors/app-error.js';
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
import type { CallContext } from '#client/call-context.js';
import { type Crossing, crossings } from './crossing.js';
import { LocalCall } from './local-call.js';
import { RequestStream } from './request-stream.js';
import { Responses } from '../responses.js';

/** Options of `localClient`. */
export interface LocalClientOptions {
  /** The name under which this client calls, as in `dialGrpc`; the service sees it as `context.caller`. */
  caller: string;
  /** How messages cross; encoded by default. */
  crossing?: Crossing;
}

/**
 * Returns a client of `service`. It raises what the service raises; an error that is not an `AppError` becomes internal with a fixed
 * message.
 */
export function localClient<D extends ServiceDefinition>(definition: D, service: ServiceOf<D>, options: LocalClientOptions): ServiceOf<D> {
  const { caller, crossing = crossings.encoded } = options;
  const client: UntypedService = {};
  for (const info of methodsOf(definition)) {
    const handler = handlerOf(service, info);
    client[info.key] = info.definition.responseStream ? stream(info, handler, caller, crossing) : unary(info, handler, caller, crossing);
  }
  return client as ServiceOf<D>;
}

function unary(info: MethodInfo, handler: UnaryHandler, caller: string, crossing: Crossing): UnaryHandler {
  return async (request, context) => {
    const call = new LocalCall(info.fullName, caller, context);
    let isDone = false;
    try {
      const received = crossing.request(info, request);
      const onProvisional = context?.onProvisional;
      // Provisional responses cross like final ones.
      if (onProvisional !== undefined) call.onProvisional = (response) => onProvisional(crossing.response(info, response));
      const response = await call.step(() => handler(received, call));
      isDone = true;
      return crossing.response(info, response);
    } catch (error) {
      throw crossed(error);
    } finally {
      call.close(isDone);
    }
  };
}

function stream(info: MethodInfo, handler: StreamHandler, caller: string, crossing: Crossing): StreamHandler {
  return (request, context) => new LocalStream(info, handler, caller, crossing, request, context);
}

/** The responses of one call. */
class LocalStream extends Responses {
  #call!: LocalCall;
  #requests: RequestStream | undefined;
  #producer: AsyncIterator<unknown> | undefined;

  constructor(
    private readonly info: MethodInfo,
    private readonly handler: StreamHandler,
    private readonly caller: string,
    private readonly crossing: Crossing,
    private readonly request: unknown,
    private readonly given: CallContext | undefined,
  ) {
    super();
  }

  protected begin(): undefined {
    const { info, crossing, request } = this;
    const call = (this.#call = new LocalCall(info.fullName, this.caller, this.given));
    try {
      if (info.definition.requestStream) this.#requests = requestsOf(info, request as AsyncIterable<unknown>, call, crossing);
      this.#producer = this.handler(this.#requests ?? crossing.request(info, request), call)[Symbol.asyncIterator]();
    } catch (error) {
      this.#close(false);
      throw crossed(error);
    }
  }

  protected read(): Promise<IteratorResult<unknown>> {
    // One message at a time: a consumer that stalls holds the producer at its next message.
    return this.#call.step(this.#step).then(this.#onResult, this.#onFailure);
  }

  readonly #step = (): Promise<IteratorResult<unknown>> => this.#producer!.next();

  readonly #onResult = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done === true) {
      this.#close(true);
      return result;
    }
    try {
      return { done: false, value: this.crossing.response(this.info, result.value) };
    } catch (error) {
      return this.#onFailure(error);
    }
  };

  readonly #onFailure = (error: unknown): never => {
    this.#close(false);
    const { ownFailure } = this.#call;
    throw ownFailure === undefined ? crossed(error) : ownFailure.error;
  };

  protected onDisconnect(): undefined {
    this.#close(false);
  }

  /** As over gRPC, the consumer does not wait for the producer's clean-up and does not see its errors. */
  #close(isDone: boolean): void {
    this.#call.close(isDone);
    void this.#requests?.return();
    if (!isDone) this.#producer?.return?.().catch(() => {});
  }
}

/** Returns the requests as the service sees them. When the caller's own iterator fails, the call ends, as over gRPC. */
function requestsOf(info: MethodInfo, requests: AsyncIterable<unknown>, call: LocalCall, crossing: Crossing): RequestStream {
  const source = requests[Symbol.asyncIterator]();
  const sending: AsyncIterator<unknown> = {
    async next() {
      try {
        const sent = await source.next();
        return sent.done === true ? sent : { done: false, value: crossing.request(info, sent.value) };
      } catch (error) {
        call.giveUp(error);
        throw error;
      }
    },
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
  };
  return new RequestStream(sending, call.signal, (received) => received);
}

/** Returns the error as the other side sees it: another object, without its cause. */
function crossed(error: unknown): AppError {
  const { reason, message, details, retryAfterMs } = toAppError(error);
  return new AppError(reason, message, { details: { ...details }, remote: true, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}
