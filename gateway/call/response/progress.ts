// Tracks what is known about a call while it runs. Pure, except for the figures that it keeps.
import type {
  CountUsageRequest,
  Event,
  FailedAttempt,
  Finished,
  GenerateRequest,
  GenerateResponse,
  ReportedOutput,
  Target,
} from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { Call } from '#proto/metering/v1/metering.js';
import { AnswerText } from '#rules/wire/answer-text.js';
import { countRequests } from '#rules/money/pricing.js';
import { AttemptLog } from './attempts.js';
import type { Readable } from './drain-after-disconnect.js';

/** No usage yet. */
export const noTokens: TokenCounts = TokenCounts.fromPartial({});

/** Holds what is known about a running answer. */
export class Progress implements Readable {
  /** The usage that would be charged now. Output read after the client disconnected counts only by the upstream's own total figures. */
  tokens: TokenCounts = noTokens;
  outputTokensRead = 0;
  /** Reports whether the current attempt has begun to answer. */
  hasBegun = false;
  /** Reports whether the client disconnected before the model finished. */
  hasDisconnected = false;
  firstOutputAtMs: number | undefined;
  finished: Finished | undefined;
  readonly attempts: AttemptLog;
  #areReported = { input: false, output: false };
  #reportedOutput: ReportedOutput | undefined;
  #delivered = new AnswerText();
  /** Whether an upstream may be working on the call. */
  #isAtUpstream = false;
  /** The upstreams that accepted the call, by target. A hedged call has two attempts at the same time. */
  readonly #accepted = new Set<string>();

  constructor(
    readonly call: Call,
    /** By the monotonic clock, as all instants here. */
    readonly startedAtMs: number,
    private readonly mayBeHedged = false,
  ) {
    this.attempts = new AttemptLog(call.attempts);
  }

  /** Reports whether an upstream accepted the call. A later failure of its attempt before the first event takes that back. */
  get isAccepted(): boolean {
    return this.#accepted.size > 0;
  }

  get isExpected(): boolean {
    // Until an upstream has begun to answer, another one may be called.
    if (this.mayBeHedged && !this.hasBegun) return false;
    return this.isAccepted || (this.#isAtUpstream && !this.call.streaming);
  }

  /** Returns the usage that is charged if the gateway is lost now: nothing before output, then also the request where it has a price. */
  get checkpoint(): TokenCounts {
    return this.firstOutputAtMs === undefined ? noTokens : countRequests(this.tokens, this.call.price!, 1);
  }

  /** Notes that the targets are called from now on. */
  ask(nowMs: number): void {
    this.#isAtUpstream = true;
    this.attempts.ask(nowMs - this.startedAtMs);
  }

  /** Notes that the client disconnected. */
  noteDisconnect(): void {
    this.hasDisconnected = this.finished === undefined;
  }

  /** Notes what the model sent. */
  take(batch: GenerateResponse, nowMs: number): void {
    const { failedAttempt, accepted, usageSoFar, events, waits } = batch;
    if (waits !== undefined) this.#isAtUpstream = !waits;
    if (failedAttempt !== undefined) this.#fail(failedAttempt);
    if (accepted !== undefined) this.#accept(accepted.target);
    if (usageSoFar !== undefined) {
      // The count may not change: at the cap, or if the upstream reported all of its figures at once. Reading must still be bounded.
      const { outputTokens } = usageSoFar;
      this.outputTokensRead = this.hasDisconnected ? Math.max(outputTokens, this.outputTokensRead + roughTokens(events)) : outputTokens;
      if (!this.hasDisconnected) this.tokens = usageSoFar;
    }
    if (!this.hasDisconnected) {
      this.#areReported = { input: batch.inputReported === true, output: batch.outputReported === true };
      this.#reportedOutput = batch.reportedOutput;
      if (!this.#areReported.output) this.#delivered.add(events);
    }
    for (const { event } of events) {
      if (event?.$case === 'started') {
        this.hasBegun = true;
        this.#accept(event.value.target);
        this.attempts.answer(event.value);
      } else if (isOutput(event)) {
        this.firstOutputAtMs ??= nowMs;
      } else if (event?.$case === 'finished') {
        this.finished = event.value;
        if (event.value.usage !== undefined && (event.value.usageReported || !this.hasDisconnected)) {
          this.tokens = event.value.usage;
          this.#areReported = { input: true, output: true };
        }
      }
    }
  }

  /** Returns what our tokenizer has to count in place of estimates; undefined if nothing is estimated. */
  uncounted({ prompt, responseFormat, native }: GenerateRequest, inputTokensMax: number): CountUsageRequest | undefined {
    const { input, output } = this.#areReported;
    if (input && output) return undefined;
    return {
      upstreamModel: this.call.upstreamModel,
      upstreamId: this.call.upstreamId,
      input: input
        ? undefined
        : {
            prompt,
            responseFormat,
            tokensMax: inputTokensMax,
            ...(native !== undefined && { nativeFormat: native.format, foreignTokens: native.foreignTokens }),
          },
      output: output ? undefined : { ...this.#delivered.counted(this.call.outputCapTokens), reported: this.#reportedOutput },
    };
  }

  /** Replaces the estimates by what was counted. */
  takeCount(counted: TokenCounts): void {
    const { input, output } = this.#areReported;
    this.tokens = {
      ...this.tokens,
      ...(input ? {} : { inputTokens: counted.inputTokens }),
      ...(output ? {} : { outputTokens: counted.outputTokens, reasoningTokens: counted.reasoningTokens }),
    };
  }

  #accept(target: Target | undefined): void {
    this.#accepted.add(nameOf(target));
    if (target === undefined) return;
    this.call.upstreamId = target.upstreamId;
    this.call.upstreamModel = target.upstreamModel;
  }

  #fail(attempt: FailedAttempt): void {
    this.attempts.fail(attempt);
    this.#accepted.delete(nameOf(attempt.target));
    this.tokens = noTokens;
    this.hasBegun = false;
    // What a whole answer held when it broke off was not delivered.
    this.outputTokensRead = 0;
    this.firstOutputAtMs = undefined;
    this.#areReported = { input: false, output: false };
    this.#reportedOutput = undefined;
    this.#delivered = new AnswerText();
  }
}

function nameOf(target: Target | undefined): string {
  return target === undefined ? '' : `${target.upstreamId} ${target.upstreamModel}`;
}

/** Reports whether an event delivers something that the model wrote. A block that only opens does not: vendors open one before the first token. */
function isOutput(event: Event['event']): boolean {
  switch (event?.$case) {
    case 'blockStart': {
      const { block } = event.value;
      return block?.$case === 'toolCall' || block?.$case === 'foreign' || (block?.$case === 'reasoning' && block.value.redactedData !== '');
    }
    case 'blockDelta':
      return event.value.delta !== undefined && event.value.delta.value !== '';
    case 'foreign':
      return event.value.countedText !== '';
    default:
      return event?.$case === 'embedding';
  }
}

const charsPerToken = 4;

/** Estimates the number of tokens in the deltas. */
function roughTokens(events: readonly Event[]): number {
  const chars = events.reduce((sum, { event }) => sum + (event?.$case === 'blockDelta' ? (event.value.delta?.value.length ?? 0) : 0), 0);
  return Math.ceil(chars / charsPerToken);
}
