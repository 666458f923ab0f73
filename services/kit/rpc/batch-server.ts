// The serving side of a batch method (batch-contract.ts): each operation runs on its own, and results that are
// ready together are sent together.
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
import { type CallContext, changedContext } from '#client/call-context.js';
import { EncodedMessage, encodeMessage } from '#client/codec.js';
import { hopMs } from './chain/deadline.js';
import type { MessageType, UnaryHandler } from '#client/definition.js';
import { withTraceparent } from './traceparent.js';

/** Options of `answerBatches`. */
export interface BatchServerOptions {
  readonly responseType: MessageType;
  /** The method behind each case, decorated: access is checked here, operation by operation. */
  readonly methods: Readonly<Record<string, UnaryHandler>>;
  /** Returns how much an operation counts among those in flight; 1 by default. */
  readonly weightOf?: (operation: Case) => number;
  readonly log: Logger;
}

/**
 * Runs each operation and returns its result, exactly once, until the requests end and all results are sent. An operation fails
 * alone: with invalid_request when it is malformed, with overloaded when too many of the stream have no result yet. Only bytes that are not
 * a message end the stream with an error, after the results of everything before them.
 */
export async function* answerBatches(
  requests: AsyncIterable<BatchRequest>,
  context: CallContext,
  options: BatchServerOptions,
): AsyncGenerator<BatchResponse> {
  const answers = new Answers(options);
  let failure: { readonly error: unknown } | undefined;
  let isReading = true;
  const incoming = requests[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    for await (const { operations } of { [Symbol.asyncIterator]: () => incoming }) {
      answers.begin(operations, context);
      await answers.waitForRoom();
      if (answers.isClosed) return;
    }
  };
  const close = (): void => answers.close();
  context.signal.addEventListener('abort', close);
  try {
    const reading = read()
      .catch((error: unknown) => (failure = { error }))
      .finally(() => {
        isReading = false;
        answers.wake();
      });
    while (!context.signal.aborted) {
      await answers.waitForResults();
      if (context.signal.aborted) break;
      yield* answers.take();
      if (!isReading && answers.isIdle()) break;
    }
    close();
    // An idle caller may send nothing for a long time.
    if (context.signal.aborted) incoming.return?.().catch(() => undefined);
    else await reading;
  } finally {
    context.signal.removeEventListener('abort', close);
    // The caller may disconnect at any `yield`; after that nothing is consumed and the reader would wait for room forever.
    close();
  }
  if (failure !== undefined) throw failure.error;
}

/** A result that waits to be sent. */
interface Answer {
  readonly result: BatchResult;
  readonly bytes: Buffer;
  readonly weight: number;
}

/** A response whose results were encoded one by one. Concatenated messages decode as one with all of their repeated fields. */
class EncodedResponse extends EncodedMessage implements BatchResponse {
  readonly results: readonly BatchResult[];

  constructor(answers: readonly Answer[]) {
    // https://protobuf.dev/programming-guides/encoding/#last-one-wins
    super(Buffer.concat(answers.map(({ bytes }) => bytes)));
    this.results = answers.map(({ result }) => result);
  }
}

/** Holds the operations of one stream that have no result yet. */
class Answers {
  /** Whether the stream has stopped reading. */
  isClosed = false;
  private ready: Answer[] = [];
  private inFlight = 0;
  private wakeWriter: (() => void) | undefined;
  private wakeReader: (() => void) | undefined;

  constructor(private readonly options: BatchServerOptions) {}

  /** Begins the operations of one message. */
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

  /** Stops reading, and resumes everything that waits for room or for a result. */
  close(): void {
    this.isClosed = true;
    this.wakeReader?.();
    this.wake();
  }

  /** Waits until there is room for more results. Even errors pile up when the sender does not read them. */
  async waitForRoom(): Promise<void> {
    while (!this.isClosed && this.inFlight >= 2 * inFlightMax) await new Promise<void>((resolve) => (this.wakeReader = resolve));
  }

  /** Waits until a result is ready or `wake` is called, and then until the results of this turn of the event loop are ready. */
  async waitForResults(): Promise<void> {
    if (this.ready.length === 0) await new Promise<void>((resolve) => (this.wakeWriter = resolve));
    // Outcomes of a transaction arrive in one promise callback after the other; a tick runs after all of them.
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }

  wake(): void {
    this.wakeWriter?.();
    this.wakeWriter = undefined;
  }

  isIdle(): boolean {
    return this.inFlight === 0;
  }

  /** Returns everything that is ready, in messages. */
  *take(): Generator<BatchResponse> {
    const ready = this.ready;
    this.ready = [];
    for (let next = 0; next < ready.length;) {
      const batch: Answer[] = [];
      for (let bytes = 0; next < ready.length && batch.length < operationsPerMessageMax && bytes < batchBytesWanted; next += 1) {
        const answer = ready[next]!;
        batch.push(answer);
        bytes += answer.bytes.length;
        this.inFlight -= answer.weight;
      }
      yield new EncodedResponse(batch);
      this.wakeReader?.();
    }
  }

  private methodOf(operation: Case | undefined): UnaryHandler | undefined {
    const { methods } = this.options;
    return operation === undefined || !Object.hasOwn(methods, operation.$case) ? undefined : methods[operation.$case];
  }

  private refusalOf(index: number, method: UnaryHandler | undefined, weight: number): AppError | undefined {
    if (index >= operationsPerMessageMax) return invalid('operations', `at most ${operationsPerMessageMax} per message`);
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

  /** Encodes each result separately, so that one that cannot be encoded does not affect the others. */
  private add(result: BatchResult, weight: number): void {
    this.ready.push({ ...this.encodable(result), weight });
    this.wake();
  }

  private encodable(result: BatchResult): { result: BatchResult; bytes: Buffer } {
    const { responseType, log } = this.options;
    try {
      return { result, bytes: encodeMessage(responseType, { results: [result] }) };
    } catch (error) {
      log.error({ err: error, operation: result.result?.$case }, 'a result could not be encoded');
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

/**
 * Returns the context of one operation. Its deadline is enforced where it is queued, since a timer for each would cost more than its
 * transport.
 */
function contextOf({ timeoutMs }: BatchOperation, context: CallContext, nowMs: number): CallContext {
  const { deadlineMs: _ofStream, ...stream } = changedContext(context, {});
  return timeoutMs === undefined ? stream : { ...stream, deadlineMs: nowMs + timeoutMs - hopMs };
}
