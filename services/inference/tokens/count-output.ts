// Our own count of what a model wrote, by the tokenizer.
import type { CountedOutput } from '#proto/inference/v1/inference.js';
import { textFactor } from './estimate.js';
import { roughTokens } from './prompt-text.js';
import { countTexts } from './tokenizer.js';
import type { OutputCounts } from './usage-report.js';

/**
 * Returns the tokens of this part of an answer, at least one for each event with text and never more than its `tokensMax`; or what the
 * upstream has reported of it, if that is more.
 */
export async function countOutput(output: CountedOutput, model: string): Promise<OutputCounts> {
  const { text, reasoning, otherChoices, bytesBeyond, reported } = output;
  const [reasoningTokens, answerTokens] = await Promise.all([countTexts([reasoning]), countTexts([text, otherChoices])]);
  const bounds = { ...output, factor: textFactor(model) };
  return largerOutput(boundedOutput(reasoningTokens + answerTokens + roughTokens(bytesBeyond), reasoningTokens, bounds), reported);
}

/** Returns the larger of a count and what the upstream has reported before the end of its answer, if anything. */
export function largerOutput(counted: OutputCounts, reported: OutputCounts | undefined): OutputCounts {
  return reported !== undefined && reported.outputTokens >= counted.outputTokens ? reported : counted;
}

/** The bounds of a count, and how many tokens of the model correspond to one of the o200k vocabulary. */
type Bounds = Pick<CountedOutput, 'contentEvents' | 'tokensMax'> & { readonly factor: number };

/** Converts counts by the o200k vocabulary to the model's own tokens, within the bounds. */
export function boundedOutput(outputTokens: number, reasoningTokens: number, { contentEvents, tokensMax, factor }: Bounds): OutputCounts {
  const bounded = Math.min(Math.max(Math.ceil(outputTokens * factor), contentEvents), tokensMax);
  return { outputTokens: bounded, reasoningTokens: Math.min(Math.ceil(reasoningTokens * factor), bounded) };
}
