// The rules that quantities must satisfy before they are charged. Counts that violate one are lowered to satisfy it,
// and the record is quarantined: a caller never pays for an upstream's implausible figures.
import type { UnitPrice } from '#proto/catalog/v1/catalog.js';
import type { TokenCounts, UnitCount, UnitCounts } from '#proto/inference/v1/tokens.js';
import { type Call, UsageSource } from '#proto/metering/v1/metering.js';
import { capOf, isUnitName, lines, tokensMax } from '#rules/money/pricing.js';
import { isUint32 } from './validate-call.js';

/** Holds counts that satisfy every rule, and the rules that the original counts violated. */
export interface ValidatedUsage {
  readonly tokens: TokenCounts;
  /** Empty for valid counts; else a text per violated rule, with the original figure, for example "output_above_cap (900 of 64)". */
  readonly brokenRules: readonly string[];
}

/** Holds what a call may use: its caps, and the prices of its units. */
export interface UsageBounds extends Pick<Call, 'outputCapTokens' | 'unitCaps'> {
  readonly price: { readonly units: readonly UnitPrice[] };
}

/**
 * Checks counts against the rules:
 * - `count_out_of_range`: each must be a whole number from 0 to 2^32 - 1; anything else counts as 0, anything above as the maximum.
 * - `output_above_cap`: an upstream cannot report more output than the cap it was sent; lowered to the cap. Our own counts
 *   are exempt, because our tokenizer may cut the same text into more tokens than the upstream's.
 * - `reasoning_above_output`: reasoning is a part of output; lowered to the output.
 * - `unit_unpriced`, `unit_repeated`: another unit must have a price, and one count; the others are left out.
 * - `unit_above_cap`: nothing can use more of another unit than the hold pays for; lowered to the cap.
 */
export function validateUsage(reported: TokenCounts, source: UsageSource, bounds: UsageBounds): ValidatedUsage {
  const { outputCapTokens } = bounds;
  const brokenRules: string[] = [];
  const tokens = { ...reported };
  for (const { count: name } of lines) {
    const count = reported[name];
    if (isUint32(count)) continue;
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
  if (reported.units !== undefined) tokens.units = validateUnits(reported.units, bounds, brokenRules);
  return { tokens, brokenRules };
}

/** Returns the counts as they may be charged, without those of zero; undefined if none is left. */
function validateUnits({ counts }: UnitCounts, { price, unitCaps }: UsageBounds, brokenRules: string[]): UnitCounts | undefined {
  const valid: UnitCount[] = [];
  for (const { unit, count } of counts) {
    const name = isUnitName(unit) ? unit : 'malformed';
    const priced = price.units.find((each) => each.unit === unit);
    if (priced === undefined) brokenRules.push(`unit_unpriced (${name} ${count})`);
    else if (valid.some((each) => each.unit === unit)) brokenRules.push(`unit_repeated (${name} ${count})`);
    else {
      const cap = Math.min(priced.maxPerCall, capOf(unit, unitCaps?.counts));
      if (!isUint32(count)) brokenRules.push(`count_out_of_range (${name} ${count})`);
      else if (count > cap) brokenRules.push(`unit_above_cap (${name} ${count} of ${cap})`);
      valid.push({ unit, count: isUint32(count) ? Math.min(count, cap) : 0 });
    }
  }
  const used = valid.filter(({ count }) => count > 0);
  return used.length === 0 ? undefined : { counts: used };
}
