// The rules that token counts must keep before they become money. Counts that break one are brought back within it, downwards,
// and the record is quarantined: a caller never pays for an upstream's nonsense.
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { UsageSource } from '#proto/metering/v1/metering.js';
import { lines, tokensMax } from '#rules/pricing.js';

/** Counts that keep every rule, and which rules the counts as they came broke. */
export interface ValidatedUsage {
  readonly tokens: TokenCounts;
  /** Empty for good counts; else a text for each broken rule, with the figure as it came, for example "output_above_cap (900 of 64)". */
  readonly brokenRules: readonly string[];
}

/**
 * Checks counts against the rules:
 * - `count_out_of_range`: each is a whole number from 0 to 2^32 - 1; what is not counts as 0, what is more as the maximum.
 * - `output_above_cap`: an upstream cannot report more output than the cap it was sent; counted up to the cap. Our own counts
 *   are exempt, because our tokenizer may cut the same text into more tokens than the upstream's.
 * - `reasoning_above_output`: reasoning is a part of output; counted up to the output.
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
    // After a clamped output this is a consequence, not a second fault, unless the report contradicted itself.
    if (reported.reasoningTokens > reported.outputTokens) {
      brokenRules.push(`reasoning_above_output (${reported.reasoningTokens} of ${reported.outputTokens})`);
    }
    tokens.reasoningTokens = tokens.outputTokens;
  }
  return { tokens, brokenRules };
}
