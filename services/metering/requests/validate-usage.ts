// The rules that token counts must satisfy before they are charged. Counts that violate one are lowered to satisfy it,
// and the record is quarantined: a caller never pays for an upstream's implausible figures.
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { UsageSource } from '#proto/metering/v1/metering.js';
import { lines, tokensMax } from '#rules/pricing.js';

/** Holds counts that satisfy every rule, and the rules that the original counts violated. */
export interface ValidatedUsage {
  readonly tokens: TokenCounts;
  /** Empty for valid counts; else a text per violated rule, with the original figure, for example "output_above_cap (900 of 64)". */
  readonly brokenRules: readonly string[];
}

/**
 * Checks counts against the rules:
 * - `count_out_of_range`: each must be a whole number from 0 to 2^32 - 1; anything else counts as 0, anything above as the maximum.
 * - `output_above_cap`: an upstream cannot report more output than the cap it was sent; lowered to the cap. Our own counts
 *   are exempt, because our tokenizer may cut the same text into more tokens than the upstream's.
 * - `reasoning_above_output`: reasoning is a part of output; lowered to the output.
 */
export function validateUsage(reported: TokenCounts, source: UsageSource, outputCapTokens: number): ValidatedUsage {
  const brokenRules: string[] = [];
  const tokens = { ...reported };
  for (const { count: name } of lines) {
    const count = reported[name];
    if (Number.isInteger(count) && count >= 0 && count <= tokensMax) continue;
    brokenRules.push(`count_out_of_range (${name} ${count})`);
    tokens[name] = count > tokensMax ? tokensMax : 0;
  }
  if (source === UsageSource.USAGE_SOURCE_REPORTED && tokens.outputTokens > outputCapTokens) {
    brokenRules.push(`output_above_cap (${tokens.outputTokens} of ${outputCapTokens})`);
    tokens.outputTokens = outputCapTokens;
  }
  if (tokens.reasoningTokens > tokens.outputTokens) {
    // After output was lowered this is a consequence, not a second fault, unless the report contradicted itself.
    if (reported.reasoningTokens > reported.outputTokens) {
      brokenRules.push(`reasoning_above_output (${reported.reasoningTokens} of ${reported.outputTokens})`);
    }
    tokens.reasoningTokens = tokens.outputTokens;
  }
  return { tokens, brokenRules };
}
