// Tracks the usage of one call: a cheap running figure with every batch of events, and the final one that is charged.
import type { Event, GenerateRequest } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { estimateInput, roughInput, textFactor } from './estimate.js';
import { inputTokensMax, roughTokens } from './prompt-text.js';
import { countTexts, exactCharsMax } from './tokenizer.js';
import {
  type InputCounts,
  inputFault,
  noReport,
  type OutputCounts,
  outputFault,
  type UsageFault,
  type UsageReport,
} from './usage-report.js';

/** Holds the usage at the end of a call. */
export interface FinalUsage {
  readonly usage: TokenCounts;
  /** Whether every figure is the upstream's own. */
  readonly usageReported: boolean;
  /** The rule that the upstream's figures broke; empty if none. */
  readonly usageFault: string;
}

/** Counts what an upstream delivers, and prefers its own report wherever that satisfies the rules. */
export class Meter {
  readonly #factor: number;
  readonly #outputMax: number;
  readonly #inputMax: number;
  #roughInput: number | undefined;
  #report: UsageReport = noReport;
  #outputBytes = 0;
  #reasoningBytes = 0;
  // The text itself is needed only for an exact count at the end; beyond exactCharsMax only its bytes are counted.
  readonly #output = new KeptText();
  readonly #reasoning = new KeptText();
  #reasoningBlock: number | undefined;

  /** `model` is the vendor's name of the model, whose tokenizer our counts should approximate. */
  constructor(
    private readonly request: GenerateRequest,
    private readonly model: string,
  ) {
    this.#factor = textFactor(model);
    this.#outputMax = request.maxOutputTokens * Math.max(1, request.choices);
    // The bound that money is held for also covers images and documents, whose bytes say nothing about their tokens.
    this.#inputMax = request.inputTokensMax || inputTokensMax(request.prompt!);
  }

  /** Counts events that are about to be delivered. */
  add(events: readonly Event[]): void {
    for (const { event } of events) {
      if (event?.$case === 'blockStart') {
        const { index, block } = event.value;
        this.#reasoningBlock = block?.$case === 'reasoning' ? index : undefined;
        if (block?.$case === 'toolCall') this.#deliver(block.value.name, false);
      } else if (event?.$case === 'foreign') {
        this.#deliver(event.value.countedText, false);
      } else if (event?.$case === 'blockDelta' && event.value.delta !== undefined && event.value.delta.$case !== 'signature') {
        const { $case, value } = event.value.delta;
        this.#deliver($case === 'foreignJson' ? foreignText(value) : value, event.value.index === this.#reasoningBlock);
      }
    }
  }

  /** Sets the upstream's latest report, which replaces the previous one. */
  report(report: UsageReport): void {
    this.#report = report;
  }

  /** Returns the usage so far. */
  soFar(): TokenCounts {
    const input = this.#checkedInput();
    const output = this.#checkedOutput();
    return {
      ...(isFault(input) ? plainInput(this.#estimateInput()) : input),
      ...(isFault(output) ? this.#capped(roughTokens(this.#outputBytes), roughTokens(this.#reasoningBytes)) : output),
    };
  }

  /** Returns the usage of the whole call. We count what the upstream did not report or reported in violation of a rule. */
  async finish(): Promise<FinalUsage> {
    const input = this.#checkedInput();
    const output = this.#checkedOutput();
    const fault = [input, output].find((half) => typeof half === 'string');
    return {
      usage: {
        ...(isFault(input) ? plainInput(await this.#countInput()) : input),
        ...(isFault(output) ? await this.#countOutput() : output),
      },
      usageReported: !isFault(input) && !isFault(output),
      usageFault: fault ?? '',
    };
  }

  #deliver(text: string, isReasoning: boolean): void {
    const bytes = Buffer.byteLength(text);
    this.#outputBytes += bytes;
    if (isReasoning) this.#reasoningBytes += bytes;
    (isReasoning ? this.#reasoning : this.#output).add(text);
  }

  #checkedInput(): InputCounts | UsageFault | undefined {
    const { input } = this.#report;
    return isFault(input) ? input : (inputFault(input, this.#inputMax) ?? input);
  }

  #checkedOutput(): OutputCounts | UsageFault | undefined {
    const { output } = this.#report;
    return isFault(output) ? output : (outputFault(output, this.#outputMax, this.#outputBytes > 0) ?? output);
  }

  /** Returns a quick estimate of the input, which takes longer than all other figures of a long prompt. */
  #estimateInput(): number {
    const { prompt, responseFormat } = this.request;
    this.#roughInput ??= Math.min(roughInput({ prompt: prompt!, responseFormat }, this.model), this.#inputMax);
    return this.#roughInput;
  }

  /** Returns our own count of the input, never more than money was held for. */
  async #countInput(): Promise<number> {
    const { prompt, responseFormat } = this.request;
    return Math.min(await estimateInput({ prompt: prompt!, responseFormat }, this.model), this.#inputMax);
  }

  async #countOutput(): Promise<OutputCounts> {
    const reasoningTokens = await this.#reasoning.count();
    return this.#capped(reasoningTokens + (await this.#output.count()), reasoningTokens);
  }

  /** Caps our own count of output at the requested maximum, and so at what money was held for. */
  #capped(outputTokens: number, reasoningTokens: number): OutputCounts {
    const capped = Math.min(Math.ceil(outputTokens * this.#factor), this.#outputMax);
    return { outputTokens: capped, reasoningTokens: Math.min(Math.ceil(reasoningTokens * this.#factor), capped) };
  }
}

/** Returns the texts of a delta without a common form. Nested texts, such as a citation, are not the model's own words. */
function foreignText(json: string): string {
  const texts: string[] = [];
  for (const [name, value] of Object.entries(JSON.parse(json) as object))
    if (name !== 'type' && name !== 'signature' && typeof value === 'string') texts.push(value);
  return texts.join('');
}

function isFault<T extends object>(half: T | UsageFault | undefined): half is UsageFault | undefined {
  return half === undefined || typeof half === 'string';
}

function plainInput(inputTokens: number): InputCounts {
  return { inputTokens, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
}

/** Holds text up to a bound; beyond it, only the length is kept. */
class KeptText {
  readonly #fragments: string[] = [];
  #chars = 0;
  #bytesBeyond = 0;

  add(text: string): void {
    if (this.#chars + text.length > exactCharsMax) {
      this.#bytesBeyond += Buffer.byteLength(text);
      return;
    }
    this.#chars += text.length;
    this.#fragments.push(text);
  }

  async count(): Promise<number> {
    return (await countTexts([this.#fragments.join('')])) + roughTokens(this.#bytesBeyond);
  }
}
