// The built-in upstream: deterministic models that cost nothing to run.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#client/errors/app-error.js';
import {
  type CountTokensRequest,
  type CountTokensResponse,
  type Event,
  type GenerateRequest,
  type GenerateResponse,
  ApiFormat,
  type Part,
  StopReason,
} from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { InferenceConfig } from '../../config.js';
import { BlockWriter } from '../answers/block-writer.js';
import { customToolNames } from '../requests/custom-tools.js';
import { droppedFor } from '../requests/native.js';
import { textOfReasoning } from '../../tokens/prompt-text.js';
import { type Attempt, isShortWhole, type Upstream } from '../upstream.js';
import { Watchdog } from '../watchdog.js';
import { splitVectors, vectorEvent } from '../embeddings/vectors.js';
import { lastUserText, readDirectives } from './directives.js';
import { noSuchModel, type Plan, planAnswer } from './plan.js';
import { countSandboxInput, splitTokens } from './tokens.js';
import { dimensionsDefault, dimensionsMax, vectorOf } from './vector.js';

/** Id of the sandbox among the upstreams. */
export const sandboxId = 'sandbox';

/** Maximum input tokens of one call: the context limit of these models in the catalog, which is also the bound for holding money. */
const contextTokensMax = 32_768;

// Events that are sent together when no pace is set: few enough that a consumer can disconnect in the middle, many enough to be cheap.
const eventsPerMessage = 16;

/** Sends planned answers, token by token. */
export class Sandbox implements Upstream {
  readonly id = sandboxId;
  readonly format = ApiFormat.API_FORMAT_SANDBOX;
  readonly providerName = 'tollgate_sandbox';
  readonly isPrivate = true;
  readonly credentials = [];
  readonly slowFirstTokenMs = Number.POSITIVE_INFINITY;
  readonly sentReasoning = textOfReasoning;

  constructor(
    private readonly config: Pick<
      InferenceConfig,
      'firstTokenTimeoutMs' | 'idleTimeoutMs' | 'sandboxTokenDelayMs' | 'sandboxWholeAnswers' | 'wholeTokensMax'
    >,
  ) {}

  answersWhole(request: GenerateRequest): boolean {
    return request.embedding !== undefined || (this.config.sandboxWholeAnswers && isShortWhole(request, this.config.wholeTokensMax));
  }

  generate(request: GenerateRequest, attempt: Attempt): AsyncGenerator<GenerateResponse, void, undefined> {
    if (request.embedding !== undefined) return this.#embed(request, attempt);
    return this.answersWhole(request) ? this.#whole(request, attempt) : this.#stream(request, attempt);
  }

  /** Yields the answer when it is complete, as an upstream that sends it whole. */
  async *#whole(request: GenerateRequest, attempt: Attempt): AsyncGenerator<GenerateResponse, void, undefined> {
    const watchdog = new Watchdog(attempt.signal);
    watchdog.expect('send its answer', this.config.firstTokenTimeoutMs);
    try {
      const events: Event[] = [];
      let last: GenerateResponse | undefined;
      for await (last of this.#stream(request, { ...attempt, signal: watchdog.signal })) events.push(...last.events);
      yield { ...last!, events };
    } finally {
      watchdog.close();
    }
  }

  async *#stream(request: GenerateRequest, { target, signal }: Attempt): AsyncGenerator<GenerateResponse, void, undefined> {
    const plan = planAnswer(target.upstreamModel, request);
    const inputTokens = await countSandboxInput(request.prompt!);
    if (inputTokens > contextTokensMax) {
      throw new AppError('context_length_exceeded', `The prompt has ${inputTokens} tokens; the sandbox reads at most ${contextTokensMax}.`);
    }
    const delayMs = plan.delayMs ?? this.config.sandboxTokenDelayMs;
    const writer = new BlockWriter(target, droppedFor(request, this.format), customToolNames(request.prompt));
    writer.start(`sandbox_${request.callId}`, target.upstreamModel);
    let usage: TokenCounts = { ...noTokens, inputTokens };
    let unsent: Event[] = [];
    for (const step of steps(plan, writer)) {
      if (delayMs > 0 && step.isToken) {
        // Events that are ready are sent before the pause, not after it.
        if (unsent.length > 0) yield { events: unsent, ...running(usage) };
        unsent = [];
        await pause(delayMs, signal);
      }
      unsent.push(...step.events);
      if (step.isToken) usage = withToken(usage, step.isReasoning);
      if (unsent.length < eventsPerMessage) continue;
      yield { events: unsent, ...running(usage) };
      unsent = [];
      await nextTurn();
      if (signal.aborted) throw signal.reason;
    }
    if (plan.outcome !== 'finish') {
      if (unsent.length > 0) yield { events: unsent, ...running(usage) };
      throw await this.#fault(plan.outcome, signal);
    }
    const { stopReason, stopSequence } = plan;
    const finished: Event = {
      event: { $case: 'finished', value: { stopReason, stopSequence, usage, usageReported: true, usageFault: '' } },
    };
    yield { events: [...unsent, finished], ...running(usage) };
  }

  async *#embed(request: GenerateRequest, { target, signal }: Attempt): AsyncGenerator<GenerateResponse, void, undefined> {
    if (target.upstreamModel !== 'embed') throw noSuchModel();
    const { dimensions = dimensionsDefault } = request.embedding!;
    if (dimensions > dimensionsMax) {
      throw new AppError('upstream_rejected', `dimensions: the model returns at most ${dimensionsMax}.`, {
        details: { param: 'dimensions' },
      });
    }
    const vectors: Event[] = [];
    let inputTokens = 0;
    for (const tokens of inputsOf(request)) {
      if (tokens.length > contextTokensMax)
        throw new AppError('context_length_exceeded', `An input has too many tokens; the sandbox reads at most ${contextTokensMax}.`);
      vectors.push(vectorEvent(vectors.length, vectorOf(tokens, dimensions)));
      inputTokens += tokens.length;
      // There may be thousands of long inputs, and other calls must not wait for all of them.
      await nextTurn();
      if (signal.aborted) throw signal.reason;
    }
    const { delayMs = 0 } = readDirectives(lastUserText(request.prompt!));
    if (delayMs > 0) await pause(delayMs, signal);
    const writer = new BlockWriter(target, droppedFor(request, this.format));
    writer.start(`sandbox_${request.callId}`, target.upstreamModel);
    const usage = { ...noTokens, inputTokens };
    const ended = { stopReason: StopReason.STOP_REASON_END, stopSequence: '', usage, usageReported: true, usageFault: '' };
    yield* splitVectors({ events: [...writer.take(), ...vectors, { event: { $case: 'finished', value: ended } }], ...running(usage) });
  }

  async countTokens(request: CountTokensRequest): Promise<CountTokensResponse> {
    return { inputTokens: await countSandboxInput(request.prompt!), estimated: false };
  }

  async close(): Promise<void> {}

  async #fault(outcome: 'drop' | 'stall', signal: AbortSignal): Promise<AppError> {
    if (outcome === 'drop') return new AppError('upstream_failed', 'The sandbox ended its answer early, as this model always does.');
    await pause(this.config.idleTimeoutMs, signal);
    return new AppError('upstream_timeout', 'The sandbox stopped sending, as this model always does.');
  }
}

/** Yields the tokens of each input: no more of a text than show that it is too long. */
function* inputsOf({ prompt, embedding }: GenerateRequest): Generator<readonly string[]> {
  for (const { parts } of prompt!.messages) yield splitTokens(textOfParts(parts), contextTokensMax + 1);
  for (const { ids } of embedding!.tokenInputs) yield ids.slice(0, contextTokensMax + 1).map(String);
}

function textOfParts(parts: readonly Part[]): string {
  return parts.map(({ part }) => (part?.$case === 'text' ? part.value.text : '')).join('');
}

function running(usageSoFar: TokenCounts): Pick<GenerateResponse, 'usageSoFar' | 'inputReported' | 'outputReported'> {
  return { usageSoFar, inputReported: true, outputReported: true };
}

interface Step {
  readonly events: Event[];
  /** Whether it is billed as one token. */
  readonly isToken: boolean;
  readonly isReasoning: boolean;
}

function* steps(plan: Plan, writer: BlockWriter): Generator<Step> {
  for (const { block, tokens, signature } of plan.blocks) {
    const isReasoning = block.$case === 'reasoning';
    writer.open(block);
    yield { events: writer.take(), isToken: block.$case === 'toolCall', isReasoning };
    for (const token of tokens) {
      writer.delta({ $case: block.$case === 'toolCall' ? 'argumentsJson' : 'text', value: token });
      yield { events: writer.take(), isToken: true, isReasoning };
    }
    if (plan.outcome !== 'finish') continue;
    writer.delta({ $case: 'signature', value: signature });
    writer.close();
    yield { events: writer.take(), isToken: false, isReasoning };
  }
  yield { events: writer.take(), isToken: false, isReasoning: false };
}

const noTokens: TokenCounts = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

function withToken(usage: TokenCounts, isReasoning: boolean): TokenCounts {
  return { ...usage, outputTokens: usage.outputTokens + 1, reasoningTokens: usage.reasoningTokens + (isReasoning ? 1 : 0) };
}

/** Waits. Raises the signal's reason if it aborts first. */
async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}
