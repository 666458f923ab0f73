// The serving side of a method that carries many small calls at once (batch-contract.ts): each is done on its own, and what is
// ready together is answered together.
import { AppError, toAppError } from '#client/errors/app-error.js';
import { toRpcStatus } from '#client/errors/rpc-status.js';
import type { Logger } from '../log.js';
import {
  type BatchOperation,
  type BatchResult,
  type BatchRequest,
  type BatchResponse,
  batchBytesWanted,
  type Case,
  inFlightMax,
  operationsPerMessageMax,
} from '#client/batch/batch-contract.js';
import type { CallContext } from '#client/call-context.js';
import { EncodedMessage, encodeMessage } from '#client/codec.js';
import { hopMs } from './deadline.js';
import type { MessageType, UnaryHandler } from '#client/definition.js';
import { withTraceparent } from './traceparent.js';

/** How operations are done. */
export interface BatchServerOptions {
  readonly responseType: MessageType;
  /** The method behind each case, decorated: who may call it is asked here, operation by operation. */
  readonly methods: Readonly<Record<string, UnaryHandler>>;
  /** How much an operation counts among those in flight; 1 unless told. */
  readonly weightOf?: (operation: Case) => number;
  readonly log: Logger;
}

/**
 * Does what is asked and answers it, each operation exactly once, until the requests end and all is answered. An operation is refused
 * alone: as invalid_request when it is none, as overloaded when too many of the stream have no result yet. Only bytes that are no
 * message end the stream with an error, and then after what came before them is answered.
 */
export async function* answerBatches(
  requests: AsyncIterable<BatchRequest>,
  context: CallContext,
  options: BatchServerOptions,
): AsyncGenerator<BatchResponse> {
  const answers = new Answers(options);
  let failure: { readonly error: unknown } | undefined;
  let isReading = true;
  const read = async (): Promise<void> => {
    for await (const { operations } of requests) {
      answers.begin(operations, context);
      await answers.room();
      if (answers.isLeft) return;
    }
  };
  const leave = (): void => answers.leave();
  context.signal.addEventListener('abort', leave);
  try {
    const reading = read()
      .catch((error: unknown) => (failure = { error }))
      .finally(() => {
        isReading = false;
        answers.wake();
      });
    while (!context.signal.aborted) {
      await answers.some();
      if (context.signal.aborted) break;
      yield* answers.take();
      if (!isReading && answers.isIdle()) break;
    }
    leave();
    await reading;
  } finally {
    context.signal.removeEventListener('abort', leave);
    // The caller may leave at any `yield`, after which nothing is taken and the reader would wait for room for ever.
    leave();
  }
  if (failure !== undefined) throw failure.error;
}

/** One result on its way back. */
interface Answer {
  readonly result: BatchResult;
  readonly bytes: Buffer;
  readonly weight: number;
}

/** A response whose results were encoded one by one. Messages one after the other are one with all of their repeated fields. */
class EncodedResponse extends EncodedMessage implements BatchResponse {
  readonly results: readonly BatchResult[];

  constructor(answers: readonly Answer[]) {
    // https://protobuf.dev/programming-guides/encoding/#last-one-wins
    super(Buffer.concat(answers.map(({ bytes }) => bytes)));
    this.results = answers.map(({ result }) => result);
  }
}

/** The operations of one stream that are not answered yet. */
class Answers {
  /** Whether nothing is taken any more. */
  isLeft = false;
  private ready: Answer[] = [];
  private inFlight = 0;
  private wakeWriter: (() => void) | undefined;
  private wakeReader: (() => void) | undefined;

  constructor(private readonly options: BatchServerOptions) {}

  /** Begins what came in one message. */
  begin(operations: readonly BatchOperation[], context: CallContext): void {
    const nowMs = Date.now();
    for (const [index, each] of operations.entries()) {
      const method = this.methodOf(each.operation);
      const weight = method === undefined ? 1 : Math.max(1, this.options.weightOf?.(each.operation!) ?? 1);
      const refusal = this.refusalOf(index, method, weight);
      this.inFlight += weight;
      if (refusal === undefined) void this.answer(each, method!, weight, contextOf(each, context, nowMs));
      else this.add({ tag: each.tag, result: failed(refusal) }, weight);
    }
  }

  /** Notes that nothing is taken any more, so that nobody waits for room or for an result. */
  leave(): void {
    this.isLeft = true;
    this.wakeReader?.();
    this.wake();
  }

  /** Waits while even refusals pile up, which they do when the sender does not read. */
  async room(): Promise<void> {
    while (!this.isLeft && this.inFlight >= 2 * inFlightMax) await new Promise<void>((resolve) => (this.wakeReader = resolve));
  }

  /** Waits until something is ready, or `wake`; then until this turn has made ready what it will. */
  async some(): Promise<void> {
    if (this.ready.length === 0) await new Promise<void>((resolve) => (this.wakeWriter = resolve));
    // Outcomes of a transaction come one promise after the other; ticks run when no promise is left.
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }

  wake(): void {
    this.wakeWriter?.();
    this.wakeWriter = undefined;
  }

  isIdle(): boolean {
    return this.inFlight === 0;
  }

  /** All that is ready, in messages. */
  *take(): Generator<BatchResponse> {
    const ready = this.ready;
    this.ready = [];
    for (let next = 0; next < ready.length;) {
      const some: Answer[] = [];
      for (let bytes = 0; next < ready.length && some.length < operationsPerMessageMax && bytes < batchBytesWanted; next += 1) {
        const answer = ready[next]!;
        some.push(answer);
        bytes += answer.bytes.length;
        this.inFlight -= answer.weight;
      }
      yield new EncodedResponse(some);
      this.wakeReader?.();
    }
  }

  private methodOf(operation: Case | undefined): UnaryHandler | undefined {
    const { methods } = this.options;
    return operation === undefined || !Object.hasOwn(methods, operation.$case) ? undefined : methods[operation.$case];
  }

  private refusalOf(index: number, method: UnaryHandler | undefined, weight: number): AppError | undefined {
    if (index >= operationsPerMessageMax) return invalid('operations', `at most ${operationsPerMessageMax} a message`);
    if (method === undefined) return invalid('operation', `one of ${Object.keys(this.options.methods).join(', ')}`);
    if (this.inFlight + weight <= inFlightMax) return undefined;
    return new AppError('overloaded', 'Too many operations of this stream wait for their result; nothing was done.', {
      retryAfterMs: 1000,
    });
  }

  private async answer(
    { tag, traceparent, operation }: BatchOperation,
    method: UnaryHandler,
    weight: number,
    context: CallContext,
  ): Promise<void> {
    const { $case, value } = operation!;
    let result: Case;
    try {
      result = { $case, value: await withTraceparent(traceparent, () => method(value, context)) };
    } catch (error) {
      result = failed(toAppError(error));
    }
    this.add({ tag, result }, weight);
  }

  /** Encoded by itself, so that an result which cannot be spoils no other. */
  private add(result: BatchResult, weight: number): void {
    this.ready.push({ ...this.encodable(result), weight });
    this.wake();
  }

  private encodable(result: BatchResult): { result: BatchResult; bytes: Buffer } {
    const { responseType, log } = this.options;
    try {
      return { result, bytes: encodeMessage(responseType, { results: [result] }) };
    } catch (error) {
      log.error({ err: error, operation: result.result?.$case }, 'an result could not be encoded');
      const instead = { tag: result.tag, result: failed(toAppError(error)) };
      return { result: instead, bytes: encodeMessage(responseType, { results: [instead] }) };
    }
  }
}

function failed(error: AppError): Case {
  return { $case: 'error', value: toRpcStatus(error) };
}

function invalid(field: string, rule: string): AppError {
  return new AppError('invalid_request', `${field} must be ${rule}.`, { details: { field } });
}

/** The circumstances of one operation. Its deadline is kept by whoever queues it, as a timer for each would cost more than its transport. */
function contextOf({ timeoutMs }: BatchOperation, { deadlineMs: _ofStream, ...stream }: CallContext, nowMs: number): CallContext {
  return timeoutMs === undefined ? stream : { ...stream, deadlineMs: nowMs + timeoutMs - hopMs };
}
