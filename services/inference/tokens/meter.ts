// Tracks the usage of one call: a cheap running figure with every batch of events, and the final one that is charged.
import { ApiFormat, type Event, type GenerateRequest, type GenerateResponse } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { AnswerText } from '#rules/wire/answer-text.js';
import { webSearchUnit } from '#rules/money/pricing.js';
import { boundedOutput, countOutput, largerOutput } from './count-output.js';
import { estimateInput, readableOf, type Recipient, roughInput, textFactor } from './estimate.js';
import { inputTokensMax, roughTokens, tokenInputs } from './prompt-text.js';
import {
  type InputCounts,
  inputFault,
  noReport,
  type OutputCounts,
  outputFault,
  outputFaultByCount,
  type UsageFault,
  type UsageReport,
} from './usage-report.js';

/** A report that exceeds the rough count by this factor is plausible by the exact count too. */
const roughMargin = 1.1;

/** Holds the usage at the end of a call. */
export interface FinalUsage {
  readonly usage: TokenCounts;
  /** Whether every figure is the upstream's own. */
  readonly usageReported: boolean;
  /** The rule that the upstream's figures broke; empty if none. */
  readonly usageFault: string;
}

/** Usage so far, and which halves of it are the upstream's own. */
export type RunningUsage = Pick<GenerateResponse, 'usageSoFar' | 'inputReported' | 'outputReported' | 'reportedOutput'>;

/** Counts what an upstream delivers, and prefers its own report wherever that satisfies the rules. */
export class Meter {
  readonly #factor: number;
  readonly #outputMax: number;
  readonly #inputMax: number;
  #roughInput: number | undefined;
  #report: UsageReport = noReport;
  #isFinal = false;
  #outputBytes = 0;
  #reasoningBytes = 0;
  readonly #text = new AnswerText((text, isReasoning) => {
    const bytes = Buffer.byteLength(text);
    this.#outputBytes += bytes;
    if (isReasoning) this.#reasoningBytes += bytes;
  });

  /** `model` is the vendor's name of the model, whose tokenizer our counts should approximate. */
  constructor(
    private readonly request: GenerateRequest,
    private readonly model: string,
    private readonly upstream: Recipient,
  ) {
    this.#factor = textFactor(model);
    this.#outputMax = request.maxOutputTokens * Math.max(1, request.choices);
    // The bound that money is held for also covers images and documents, whose bytes say nothing about their tokens.
    this.#inputMax = request.inputTokensMax || inputTokensMax(request.prompt!);
  }

  /** Counts events that are about to be delivered. */
  add(events: readonly Event[]): void {
    this.#text.add(events);
  }

  /** Sets the upstream's latest report, which replaces the previous one. `isFinal`: no output can follow it. */
  report(report: UsageReport, isFinal: boolean): void {
    this.#report = report;
    this.#isFinal = isFinal;
  }

  /** Returns the usage so far. */
  soFar(): RunningUsage {
    const input = this.#checkedInput();
    const output = this.#checkedOutput();
    const reported = isFault(output) ? undefined : output;
    const isFinal = reported !== undefined && this.#isFinal;
    return {
      usageSoFar: {
        ...(isFault(input) ? plainInput(this.#estimateInput()) : input),
        ...(isFinal ? reported : largerOutput(this.#roughOutput(), reported)),
        ...this.#units(),
      },
      inputReported: !isFault(input),
      outputReported: isFinal,
      reportedOutput: isFinal ? undefined : reported,
    };
  }

  /** Returns the usage of the whole call. We count what the upstream did not report, reported too early or reported in violation of a rule. */
  async finish(): Promise<FinalUsage> {
    const input = this.#checkedInput();
    const output = await this.#comparedOutput();
    const searches = this.request.unitCaps === undefined ? undefined : this.#report.searches;
    const fault = [input, output, searches].find((part) => typeof part === 'string');
    return {
      usage: {
        ...(isFault(input) ? plainInput(await this.#countInput()) : input),
        ...(isFault(output) ? await this.#countOutput() : output),
        ...this.#units(),
      },
      usageReported: !isFault(input) && !isFault(output) && typeof searches !== 'string',
      usageFault: fault ?? '',
    };
  }

  /** Returns the searches, if the call pays for any. A chat-completions vendor that does not report them makes one for each call. */
  #units(): Pick<TokenCounts, 'units'> {
    const { unitCaps, native } = this.request;
    if (unitCaps === undefined) return {};
    const { searches = native?.format === ApiFormat.API_FORMAT_CHAT_COMPLETIONS ? 1 : 0 } = this.#report;
    return { units: { counts: typeof searches === 'number' && searches > 0 ? [{ unit: webSearchUnit, count: searches }] : [] } };
  }

  #checkedInput(): InputCounts | UsageFault | undefined {
    const { input } = this.#report;
    return isFault(input) ? input : (inputFault(input, this.#inputMax) ?? input);
  }

  #checkedOutput(): OutputCounts | UsageFault | undefined {
    const { output } = this.#report;
    return isFault(output) ? output : (outputFault(output, this.#outputMax, this.#outputBytes > 0) ?? output);
  }

  /** Returns the checked output, compared with our own count where several answers were requested: some servers report the usage of one. */
  async #comparedOutput(): Promise<OutputCounts | UsageFault | undefined> {
    const output = this.#checkedOutput();
    if (isFault(output)) return output;
    // A figure that came before the end may not include all that was delivered.
    if (!this.#isFinal) return countOutput({ ...this.#text.counted(this.#outputMax), reported: output }, this.model);
    if (this.request.choices <= 1 || output.outputTokens >= this.#roughOutput().outputTokens * roughMargin) return output;
    // A proxy that splits the events of its upstream reports fewer tokens than events.
    const counted = await countOutput({ ...this.#text.counted(this.#outputMax), contentEvents: 0 }, this.model);
    return outputFaultByCount(output, counted) ?? output;
  }

  /** Returns a quick estimate of the input. It is kept, because for a long prompt it takes longer than all other figures. */
  #estimateInput(): number {
    this.#roughInput ??= Math.min(
      roughInput(readableOf(this.request, this.upstream), this.model) + tokenInputs(this.request),
      this.#inputMax,
    );
    return this.#roughInput;
  }

  /** Returns our own count of the input, never more than money was held for. */
  async #countInput(): Promise<number> {
    return Math.min((await estimateInput(readableOf(this.request, this.upstream), this.model)) + tokenInputs(this.request), this.#inputMax);
  }

  #countOutput(): Promise<OutputCounts> {
    return countOutput(this.#text.counted(this.#outputMax), this.model);
  }

  /** Returns a quick estimate of the output, within its bounds. */
  #roughOutput(): OutputCounts {
    const bounds = { contentEvents: this.#text.contentEvents, tokensMax: this.#outputMax, factor: this.#factor };
    return boundedOutput(roughTokens(this.#outputBytes), roughTokens(this.#reasoningBytes), bounds);
  }
}

function isFault<T extends object>(half: T | UsageFault | undefined): half is UsageFault | undefined {
  return half === undefined || typeof half === 'string';
}

function plainInput(inputTokens: number): InputCounts {
  return { inputTokens, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
}
