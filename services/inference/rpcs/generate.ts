// Generates one answer: tries targets until one starts to answer and, where the client has received nothing yet, until one completes its answer.
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { GenerateRequest, GenerateResponse } from '#proto/inference/v1/inference.js';
import { AttemptMetrics } from '../attempts/attempt-metrics.js';
import { AttemptSpan } from '../attempts/attempt-span.js';
import { AttemptNote, type Chosen } from '../attempts/attempt-note.js';
import { race, type Run } from '../attempts/race.js';
import type { RpcDeps } from '../deps.js';
import { CallRoute, pause } from '../routing/call-route.js';
import { checkGenerateRequest } from '../requests/request-rules.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import { refusalFor } from '../upstreams/requests/native.js';
import type { ResolvedTarget } from '../upstreams/registry.js';
import { callOver, Watchdog } from '../upstreams/watchdog.js';

/** Implements InferenceService.Generate. */
export async function* generate(
  request: GenerateRequest,
  context: CallContext,
  deps: RpcDeps,
): AsyncGenerator<GenerateResponse, void, undefined> {
  checkGenerateRequest(request);
  const first = new CallRoute(deps.router, await deps.registry.resolve(request.targets), request);
  const arrivedAtMs = deps.clock.monotonicMs();
  const watchdog = new Watchdog(context.signal);
  watchdog.expect('finish its answer', deps.config.totalTimeoutMs);
  const call: RunningCall = { request, arrivedAtMs, watchdog, deps, attempts: 0 };
  first.first();
  let route = first;
  let failure: unknown;
  try {
    for (;;) {
      let hasBegun = false;
      let run = new AttemptRun(route, call);
      try {
        const admitting = run.admit();
        if (admitting !== undefined) yield* waitingFor(admitting);
        run.begin();
        const { hedgeAfterMs } = request;
        let pending: GenerateResponse | undefined;
        if (hedgeAfterMs !== undefined) {
          const result = yield* race(run, hedgeAfterMs, () => startHedge(route, call));
          ({ run } = result);
          ({ route } = run);
          if (result.first === undefined) throw result.error;
          pending = result.first;
        }
        for (;;) {
          const message = pending ?? (await run.messages.next()).value;
          if (message === undefined) break;
          pending = undefined;
          if (!hasBegun && message.accepted === undefined) {
            hasBegun = true;
            run.answered(message);
          }
          route.noteUsage(message.usageSoFar);
          yield message;
        }
        route.succeed();
        return;
      } catch (error) {
        run.fail(error);
        // The error of a target that cannot honour the request does not hide the failure of one that can.
        if (failure === undefined || !hasReason(error, 'unsupported_field')) failure = error;
        // The client of a whole answer has received nothing yet.
        const isOver = (hasBegun && request.streaming) || watchdog.hasEnded;
        const next = isOver ? undefined : route.next(error, run.note.hasStatus);
        if ((next !== undefined || !hasBegun) && !context.signal.aborted) yield run.note.failed(error, run.chosen, next?.resolved.target);
        if (next === undefined) throw failure;
        if (next.pauseMs > 0) yield* waitingFor(pause(next.pauseMs, watchdog.signal));
      } finally {
        await run.end();
      }
    }
  } finally {
    watchdog.close();
  }
}

/** Waits, and reports to the consumer that no upstream works on the call in the meantime. */
async function* waitingFor(wait: Promise<void>): AsyncGenerator<GenerateResponse, void, undefined> {
  // Its failure is raised below, if the consumer continues to read.
  wait.catch(() => undefined);
  yield { events: [], usageSoFar: undefined, waits: true };
  await wait;
  yield { events: [], usageSoFar: undefined, waits: false };
}

/** The state that all attempts of a call share. */
interface RunningCall {
  readonly request: GenerateRequest;
  readonly arrivedAtMs: number;
  readonly watchdog: Watchdog;
  readonly deps: RpcDeps;
  /** Number of attempts so far. */
  attempts: number;
}

/** One attempt of a call at the target that its route chose. */
class AttemptRun implements Run {
  readonly target: ResolvedTarget;
  readonly note: AttemptNote;
  readonly chosen: Chosen;
  readonly messages: AttemptMessages;
  /** Ends only this attempt; present if two may run at the same time. */
  readonly #own: Watchdog | undefined;

  constructor(
    readonly route: CallRoute,
    private readonly call: RunningCall,
  ) {
    const { request, arrivedAtMs, watchdog, deps } = call;
    this.target = route.target;
    this.note = new AttemptNote(this.target.target, arrivedAtMs, deps.clock);
    this.chosen = { choice: route.choice, credentialId: route.credential?.id };
    this.#own = request.hedgeAfterMs === undefined ? undefined : new Watchdog(watchdog.signal);
    call.attempts += 1;
    const own = this.#own ?? watchdog;
    this.messages = new AttemptMessages(this.target, route.credential, call, () => own.signal, this.note, call.attempts);
  }

  /**
   * Waits until its vendor's allowance admits the attempt; undefined if it does so immediately. Raises unsupported_field if the format cannot express
   * the request.
   */
  admit(): Promise<void> | undefined {
    const { request, watchdog } = this.call;
    const refusal = refusalFor(request, this.target.upstream.format);
    if (refusal !== undefined) throw refusal;
    return this.route.admit(watchdog.signal);
  }

  /** Begins the attempt. */
  begin(): void {
    this.route.begin();
  }

  /** Notes the first message of the answer. */
  answered(message: GenerateResponse): void {
    this.route.answered(this.target.upstream.answersWhole(this.call.request));
    const first = message.events[0]?.event;
    if (first?.$case === 'started') Object.assign(first.value, this.chosen);
  }

  fail(error: unknown): void {
    this.route.fail(error);
  }

  cancel(): void {
    this.#own?.end(callOver);
    // The signal does not end an attempt whose next message has arrived but is not read.
    this.messages.return().catch(() => undefined);
    this.route.lose();
  }

  /** Ends the attempt, unless it has ended. */
  async end(): Promise<void> {
    await this.messages.return();
    this.#own?.close();
    this.route.end();
  }
}

/** Begins a second attempt at another target; undefined if none can be called now. */
async function startHedge(route: CallRoute, call: RunningCall): Promise<AttemptRun | undefined> {
  const second = route.hedge();
  if (second === undefined) return undefined;
  const run = new AttemptRun(second, call);
  try {
    await run.admit();
    run.begin();
    return run;
  } catch {
    await run.end();
    return undefined;
  }
}

/** The messages of one attempt, in a span of its own. Its failure is logged here, with the details that only operators may see. */
class AttemptMessages implements AsyncIterableIterator<GenerateResponse, void, undefined> {
  #open:
    | {
        readonly messages: AsyncGenerator<GenerateResponse, void, undefined>;
        readonly span: AttemptSpan;
        readonly measured: AttemptMetrics;
      }
    | undefined;

  #isOver = false;

  constructor(
    private readonly resolved: ResolvedTarget,
    private readonly credential: UpstreamCredential | undefined,
    private readonly call: RunningCall,
    private readonly signal: () => AbortSignal,
    private readonly note: AttemptNote,
    private readonly number: number,
  ) {}

  async next(): Promise<IteratorResult<GenerateResponse, void>> {
    if (this.#isOver) return { done: true, value: undefined };
    const open = (this.#open ??= this.#begin());
    try {
      const result = await open.messages.next();
      if (result.done === true) {
        this.#end();
        return result;
      }
      open.span.observe(result.value);
      open.measured.observe(result.value);
      noteUsageFault(result.value, this.call.request, this.resolved, this.call.deps.log);
      return result;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<GenerateResponse, void>> {
    await this.#open?.messages.return();
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #begin() {
    const { resolved, credential, note } = this;
    const { target, upstream } = resolved;
    const { request, deps } = this.call;
    const { config, clock } = deps;
    const span = new AttemptSpan(resolved, request, { number: this.number, credentialId: credential?.id, note }, clock);
    const learnsTrace = config.propagateTrace === 'always' || (config.propagateTrace === 'private' && upstream.isPrivate);
    const messages = upstream.generate(request, {
      target,
      credential,
      signal: this.signal(),
      traceHeaders: learnsTrace ? span.traceHeaders() : {},
      onResponse: note.onResponse,
    });
    return { messages, span, measured: new AttemptMetrics(resolved, request, clock) };
  }

  #fail(error: unknown): void {
    const { target, upstream } = this.resolved;
    const { request, deps } = this.call;
    this.#open?.span.fail(error);
    this.#open?.measured.fail(error);
    const { reason, cause } = error instanceof AppError ? error : { reason: 'internal', cause: error };
    const fields = {
      call_id: request.callId,
      upstream: upstream.id,
      upstream_model: target.upstreamModel,
      credential: this.credential?.id,
      reason,
      why: describe(cause),
    };
    if (reason === 'cancelled') deps.log.debug(fields, 'upstream call cancelled');
    else deps.log.warn(fields, 'upstream call failed');
    this.#end();
  }

  #end(): void {
    const open = this.#open;
    this.#open = undefined;
    this.#isOver = true;
    open?.measured.end();
    open?.span.end();
  }
}

/** Logs usage figures that were rejected, so that operators can look into them: the vendor will bill by them. */
function noteUsageFault(
  { events }: GenerateResponse,
  request: GenerateRequest,
  { target, upstream }: ResolvedTarget,
  log: RpcDeps['log'],
): void {
  const last = events.at(-1)?.event;
  if (last?.$case !== 'finished' || last.value.usageFault === '') return;
  const fields = {
    call_id: request.callId,
    upstream: upstream.id,
    upstream_model: target.upstreamModel,
    usage_fault: last.value.usageFault,
  };
  log.warn(fields, "upstream's usage figures break a rule; Tollgate's own count is charged");
}

function describe(cause: unknown): string | undefined {
  if (cause instanceof AggregateError && cause.errors.length > 0) return describe(cause.errors[0]);
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : undefined;
}
