// Keeps the usage of one call: a cheap running figure with every batch of events, and the final one that is charged.
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

/** The usage at the end of a call. */
export interface FinalUsage {
  readonly usage: TokenCounts;
  /** Whether every figure is the upstream's own. */
  readonly usageReported: boolean;
  /** The rule that the upstream's figures broke; empty when none. */
  readonly usageFault: string;
}

/** Counts what an upstream delivers, and prefers what it reports wherever that keeps the rules. */
export class Meter {
  readonly #factor: number;
  readonly #outputMax: number;
  readonly #inputMax: number;
  readonly #roughInput: number;
  #report: UsageReport = noReport;
  #outputBytes = 0;
  #reasoningBytes = 0;
  // The text itself is needed only for an exact count at the end; beyond exactCharsMax the bytes must do.
  readonly #output = new KeptText();
  readonly #reasoning = new KeptText();
  #reasoningBlock: number | undefined;

  /** `model` is the vendor's name of it, whose tokenizer our counts shall come close to. */
  constructor(
    private readonly request: GenerateRequest,
    private readonly model: string,
  ) {
    const prompt = request.prompt!;
    this.#factor = textFactor(model);
    this.#outputMax = request.maxOutputTokens * Math.max(1, request.choices);
    // What money is held for also covers images and documents, whose bytes say nothing about their tokens.
    this.#inputMax = request.inputTokensMax || inputTokensMax(prompt);
    this.#roughInput = Math.min(roughInput({ prompt, responseFormat: request.responseFormat }, model), this.#inputMax);
  }

  /** Takes note of events that are about to be delivered. */
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

  /** Takes the upstream's newest report, which replaces the one before. */
  report(report: UsageReport): void {
    this.#report = report;
  }

  /** The usage up to now. */
  soFar(): TokenCounts {
    const input = this.#checkedInput();
    const output = this.#checkedOutput();
    return {
      ...(isFault(input) ? plainInput(this.#roughInput) : input),
      ...(isFault(output) ? this.#capped(roughTokens(this.#outputBytes), roughTokens(this.#reasoningBytes)) : output),
    };
  }

  /** The usage of the whole call. What the upstream did not report, or reported in breach of a rule, is counted by us. */
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

  /** Never more than what was held for it. */
  async #countInput(): Promise<number> {
    const { prompt, responseFormat } = this.request;
    return Math.min(await estimateInput({ prompt: prompt!, responseFormat }, this.model), this.#inputMax);
  }

  async #countOutput(): Promise<OutputCounts> {
    const reasoningTokens = await this.#reasoning.count();
    return this.#capped(reasoningTokens + (await this.#output.count()), reasoningTokens);
  }

  /** Our own count of output never exceeds what was asked for, and so never what was held for it. */
  #capped(outputTokens: number, reasoningTokens: number): OutputCounts {
    const capped = Math.min(Math.ceil(outputTokens * this.#factor), this.#outputMax);
    return { outputTokens: capped, reasoningTokens: Math.min(Math.ceil(reasoningTokens * this.#factor), capped) };
  }
}

/** The texts of a delta without a common form. What it nests (a citation, say) is not the model's own words. */
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

/** Text that is kept up to a bound, and beyond it only measured. */
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
