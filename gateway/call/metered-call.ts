// The life of a call: price → hold → generate → record. Everything that makes the bill right is in this file or referenced by it.
//
// Whatever happens, a call whose hold is durable ends in exactly one usage record: when the model is done, when anything fails, and when
// the client disconnects. The hold is durable before the client gets the first byte, the record before it gets the end.
import type { AccountRateLimits, Key, Project } from '#proto/auth/v1/auth.js';
import type { Budget } from '#proto/budget/v1/budget.js';
import type { ApiFormat, Event } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Call, type ModelFallback, Outcome, ResponseStorage, type StoredResponse } from '#proto/metering/v1/metering.js';
import type { Clock } from '#kit/clock.js';
import { AppError, toAppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { callContext, consumerDisconnected } from '#client/call-context.js';
import { recordedTraceId } from '#kit/telemetry/traces/recorded-trace.js';
import { beginReading } from './response/begin-reading.js';
import type { BudgetFallbacks } from './admission/budget-fallback.js';
import { countCall } from './call-metrics.js';
import type { Checkpoints } from './recording/checkpoints.js';
import { countCancelled } from './response/count-cancelled.js';
import type { GatewayConfig } from '../config.js';
import { type Held, hold } from './admission/hold.js';
import { type Admission, countedTokens, type Limiter } from '../limits/limiter.js';
import type { Figures } from '../limits/limits.js';
import { type CallOutcome, outcomeOf, reportOf } from './recording/outcome.js';
import { noTokens, Progress } from './response/progress.js';
import type { ParsedCall } from '../formats/format.js';
import { assertForms, assertPermitted, assertReads, assertReturns } from './admission/model-checks.js';
import type { GatewayPeers } from '../peers.js';
import type { DisconnectDrain } from './response/drain-after-disconnect.js';
import type { Recorded, Recorder } from './recording/recorder.js';
import type { CallLog } from '../prompt-log/call-log.js';
import type { ModelReplica } from '../replicas/models.js';
import type { ResponseSink } from './stored-responses/response-sink.js';
import type { UnknownHolds } from './admission/unknown-holds.js';

const nothing = Buffer.alloc(0);

/** What the caller requested. */
export interface CallRequest {
  /** The request id, which becomes the call id: req_… */
  readonly id: string;
  readonly key: Key;
  readonly project?: Project | undefined;
  readonly accountRateLimits?: AccountRateLimits | undefined;
  /** The budgets that the call counts in. */
  readonly budgets?: readonly Budget[] | undefined;
  /** The time zone of calendar budgets; empty for UTC. */
  readonly accountTimeZone?: string | undefined;
  /** Receives what the rate limits leave, for the headers of the answer; not called for a call without limits. */
  readonly onLimits?: (figures: readonly Figures[]) => void;
  /** Receives the fields that were left out of the request to a target that failed before it began to answer, for the headers of an error. */
  readonly onDropped?: (fields: readonly string[]) => void;
  readonly format: ApiFormat;
  readonly parsed: ParsedCall;
  /** The caller's own x-request-id. */
  readonly clientRequestId: string;
  /** Aborts when the client disconnects. */
  readonly disconnected: AbortSignal;
  /** Aborts, with a reason, when the gateway cannot continue a call whose client is still connected. */
  readonly broken?: AbortSignal;
  /** For a call that may be repeated: collects its answer, to be kept with the record. */
  readonly answerSink?: AnswerSink;
  /** For a call whose project logs prompts and answers. */
  readonly promptLog?: CallLog | undefined;
  /** For a call whose response later requests may refer to: collects it, to be stored with the record. */
  readonly responseSink?: ResponseSink | undefined;
}

/** Collects an answer for repeats of the request. */
export interface AnswerSink {
  /** Whether no client received anything yet, so that the call is free if the gateway is lost now. */
  readonly isUndelivered: boolean;
  /** The hash with which retries at other gateways look for the call, unless none may join it. */
  readonly retryKeyHash?: Buffer | undefined;
  /** Notes the admitted call, whose `idempotencyKeyHash` it sets while a key is reserved for the call. */
  begin(call: Call, admitted: CallStep): void;
  /** Adds the model's next events, with the usage after them. */
  take(batch: { readonly events: readonly Event[] }, tokens: TokenCounts): void;
  /** Drops everything taken: the answer broke off, and another target begins it again. */
  restart(): void;
  /** Returns the answer as it is kept, with the error that ended it, if any; empty if it is too large, or if nothing is charged and so nothing kept. */
  answer(error: AppError | undefined, isFree: boolean): Promise<Buffer>;
  /** Notes the end of the call: its record, or the error in its place. */
  end(recorded: Recorded | undefined, error: AppError | undefined): void;
}

/** The dependencies of a call. */
export interface CallDeps {
  readonly peers: GatewayPeers;
  readonly models: ModelReplica;
  readonly checkpoints: Checkpoints;
  readonly recorder: Recorder;
  readonly drain: DisconnectDrain;
  readonly unknownHolds: UnknownHolds;
  readonly limiter: Limiter;
  readonly fallbacks: BudgetFallbacks;
  readonly config: GatewayConfig;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A step of a call. The order is: admitted once, events any number of times, recorded once. After `restarted`, which only calls that are not
 * streamed have, the events before it are void: another target begins the answer again.
 */
export type CallStep =
  | {
      readonly kind: 'admitted';
      readonly modelId: string;
      /** Set if it is not the requested model. */
      readonly fallback: ModelFallback | undefined;
      readonly outputCapTokens: number;
      readonly startedAtMs: number;
    }
  | { readonly kind: 'events'; readonly events: readonly Event[]; readonly tokens: TokenCounts }
  | { readonly kind: 'restarted' }
  | { readonly kind: 'recorded'; readonly recorded: Recorded };

/**
 * Runs one call. The upstream may be called while the hold is being synced, but the first step follows when the hold is durable. An error
 * before the first `events` step means that nothing was delivered and nothing is charged; a later error is thrown once what was
 * delivered is recorded. The consumer must read to the end or return.
 */
export async function* meteredCall(request: CallRequest, deps: CallDeps): AsyncGenerator<CallStep, void, void> {
  const startedAtMs = deps.clock.nowMs();
  const beganAtMs = deps.clock.monotonicMs();
  const requested = deps.models.resolve(request.parsed.model, startedAtMs);
  assertPermitted(request, requested.model);
  assertReturns(requested.model, request.parsed.request.embedding !== undefined);
  assertReads(requested.model, request.parsed.needs);
  assertForms(requested.model, request.parsed, request.format);
  deps.recorder.assertRecording();

  let chosen = deps.fallbacks.choose(request, requested, startedAtMs);
  let admission: Admission | undefined;
  let held: Held | undefined;
  while (held === undefined) {
    const admitting = deps.limiter.admit(request, chosen.callable.model.id);
    // Waits only where limits are counted in another process.
    admission = admitting instanceof Promise ? await admitting : admitting;
    try {
      held = await hold(request, chosen.callable, deps);
    } catch (error) {
      admission?.end(0);
      const cheaper = chosen.fallback === undefined ? deps.fallbacks.afterRefusal(request, requested, error, startedAtMs) : undefined;
      if (cheaper === undefined) throw error;
      chosen = cheaper;
    }
  }
  const { callable, fallback } = chosen;
  deps.fallbacks.note(request, held.projectShare);
  const call: Call = {
    id: request.id,
    accountId: request.key.accountId,
    projectId: request.key.projectId,
    keyId: request.key.id,
    modelId: callable.model.id,
    upstreamId: callable.targets[0]!.upstreamId,
    upstreamModel: callable.targets[0]!.upstreamModel,
    format: request.format,
    streaming: request.parsed.streaming,
    price: callable.price,
    heldNanoUsd: held.amountNanoUsd,
    outputCapTokens: capOfAll(held.outputCapTokens, request.parsed.request.choices),
    startedAtMs: BigInt(startedAtMs),
    traceId: recordedTraceId(),
    clientRequestId: request.clientRequestId,
    idempotencyKeyHash: nothing,
    attempts: [],
    modelFallback: fallback,
    unitCaps: held.unitCaps,
    product: '',
    promptLogDays: 0,
  };
  const hedgeAfterMs = callable.targets.length > 1 ? callable.model.hedgeAfterMs : undefined;
  const progress = new Progress(call, beganAtMs, hedgeAfterMs !== undefined);
  const reading = deps.drain.watch(request.disconnected, progress);
  const context = callContext({
    caller: 'gateway',
    timeoutMs: deps.config.callTimeoutMs,
    signal: request.broken === undefined ? reading.signal : AbortSignal.any([reading.signal, request.broken]),
  });
  progress.ask(deps.clock.monotonicMs());
  const answer = beginReading(
    deps.peers.inference.generate(
      {
        ...request.parsed.request,
        callId: request.id,
        targets: [...callable.targets],
        maxOutputTokens: held.outputCapTokens,
        inputTokensMax: held.inputTokensMax,
        unitCaps: held.unitCaps,
        hedgeAfterMs,
        affinityScope:
          callable.model.prefixAffinity === false || request.parsed.request.embedding !== undefined ? undefined : call.accountId,
      },
      context,
    ),
  );
  try {
    await held.durable;
  } catch (error) {
    // The client has received nothing, and there is no hold from which to charge.
    admission?.end(0);
    reading.abort(consumerDisconnected);
    reading.end();
    answer.leave();
    throw error;
  }
  const holdMs = deps.clock.monotonicMs() - beganAtMs;
  const admitted = { kind: 'admitted', modelId: callable.model.id, fallback, outputCapTokens: held.outputCapTokens, startedAtMs } as const;
  const { promptLog } = request;
  promptLog?.begin(call, admitted);
  const sink = request.answerSink;
  // The upstream may be at work already, but a repeat of the request runs as a new call.
  const isAbandoned = sink !== undefined && request.disconnected.aborted;
  if (isAbandoned) reading.abort(consumerDisconnected);
  sink?.begin(call, admitted);
  const { responseSink } = request;
  responseSink?.begin(call);
  // A free call stays free if the gateway crashes before the call is recorded.
  let outcome: CallOutcome | undefined;
  const inFlight = deps.checkpoints.open({
    call,
    tokens: () => (isAbandoned || outcome?.free === true || sink?.isUndelivered === true ? noTokens : progress.checkpoint),
    retryKeyHash: () => sink?.retryKeyHash,
    onClosed: (error) => reading.abort(error),
  });

  let failure: unknown;
  let recorded: Recorded | undefined;
  let error: AppError | undefined;
  try {
    yield admitted;
    for await (const batch of answer) {
      if (batch.failedAttempt !== undefined) {
        const hadBegun = progress.hasBegun;
        progress.take(batch, deps.clock.monotonicMs());
        reading.noteIdle();
        if (!hadBegun) {
          request.onDropped?.(batch.failedAttempt.droppedFields);
          continue;
        }
        sink?.restart();
        promptLog?.restart();
        responseSink?.restart();
        yield { kind: 'restarted' };
        continue;
      }
      progress.take(batch, deps.clock.monotonicMs());
      if (batch.waits === true) reading.noteIdle();
      // Not a part of the answer.
      if (batch.accepted !== undefined || batch.waits !== undefined) continue;
      reading.noteProgress();
      sink?.take(batch, progress.tokens);
      promptLog?.take(batch.events);
      responseSink?.take(batch);
      yield { kind: 'events', events: batch.events, tokens: progress.tokens };
    }
    if (progress.finished === undefined) throw new AppError('upstream_failed', 'The upstream ended its answer early.');
  } catch (cause) {
    failure = cause;
  } finally {
    reading.end();
    const endedAtMs = deps.clock.monotonicMs();
    // A consumer that returned at the first step has read nothing yet.
    if (progress.finished === undefined) {
      reading.abort(consumerDisconnected);
      answer.leave();
    }
    // Also reached when the consumer returned early, without an error in the block above.
    outcome = outcomeOf(progress, failure);
    if (isAbandoned) outcome = { ...outcome, free: true };
    progress.attempts.end(outcome.code, outcome.detail);
    if (outcome.code === Outcome.OUTCOME_CLIENT_DISCONNECTED && !outcome.free)
      await countCancelled(progress, request.parsed.request, held.inputTokensMax, deps);
    // Before the end is sent: a client that may have one call in flight sends the next one when it has received this one.
    // A client that disconnects before its call is accepted pays nothing, but its estimate stays counted.
    admission?.end(outcome.free && progress.hasDisconnected ? undefined : countedTokens(progress.tokens));
    const storedAnswer = sink === undefined ? nothing : await keptAnswerOf(sink, progress, failure, outcome.free, deps.log);
    const isStored = responseSink !== undefined && progress.finished !== undefined && !outcome.free;
    const storedResponse = isStored ? await storedResponseOf(responseSink, progress, deps.log) : undefined;
    const report = reportOf(progress, outcome, deps.clock.monotonicMs(), storedAnswer, storedResponse);
    const recording = deps.recorder.record({ ...report, neverCheckpointed: inFlight.reporting() }, held.write);
    // The call is in flight until it is recorded, however long that takes.
    void recording.ended.then(() => inFlight.close());
    recorded = await recording.record.catch((cause: unknown) => {
      failure = cause;
      return undefined;
    });
    if (recorded !== undefined && isStored && storedResponse === undefined)
      recorded = { ...recorded, storage: ResponseStorage.RESPONSE_STORAGE_TOO_LARGE };
    countCall(report, { holdMs, recordMs: deps.clock.monotonicMs() - endedAtMs });
    if (recorded === undefined || (failure !== undefined && progress.finished === undefined)) error = toAppError(failure);
    sink?.end(recorded, error);
    promptLog?.end(progress.tokens);
  }
  if (error !== undefined) throw error;
  yield { kind: 'recorded', recorded: recorded! };
}

const uint32Max = 2 ** 32 - 1;

/** Returns the cap on the output of all answers together. */
export function capOfAll(capTokens: number, choices: number): number {
  return Math.min(capTokens * Math.max(1, choices), uint32Max);
}

/** Returns the answer for repeats, or nothing if it cannot be encrypted, because that must not prevent the call from being recorded. */
async function keptAnswerOf(
  sink: AnswerSink,
  { call, finished }: Progress,
  failure: unknown,
  isFree: boolean,
  log: Logger,
): Promise<Buffer> {
  const error = finished === undefined ? toAppError(failure ?? { name: 'AbortError' }) : undefined;
  return sink.answer(error, isFree).catch((packError: unknown) => {
    log.error({ err: packError, call_id: call.id }, 'the answer of a call that may be repeated could not be encrypted, and is not stored');
    return nothing;
  });
}

/** Returns the response for later requests, or undefined if it is too large or cannot be encrypted. */
async function storedResponseOf(sink: ResponseSink, { call, tokens }: Progress, log: Logger): Promise<StoredResponse | undefined> {
  return sink.response(tokens).catch((error: unknown) => {
    log.error({ err: error, call_id: call.id }, 'the response of a call could not be encrypted, and is not stored');
    return undefined;
  });
}
