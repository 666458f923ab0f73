// The usage that an upstream reports for a call, and the rules that it must satisfy before it is charged.
import type { TokenCounts } from '#proto/inference/v1/tokens.js';

/** The classes of input; they do not overlap. */
export type InputCounts = Pick<TokenCounts, 'inputTokens' | 'cacheReadTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens'>;

/** Output and the part of it that is reasoning. */
export type OutputCounts = Pick<TokenCounts, 'outputTokens' | 'reasoningTokens'>;

/** The rules that an upstream's figures can break, by the name that operators see. */
export const usageFaults = [
  // A figure is negative, fractional, not a number or beyond 2^31.
  'not_a_count',
  // More tokens read from and written to caches than in the whole prompt.
  'cached_above_input',
  // More tokens cached for an hour than written to caches in total.
  'cache_write_parts_above_total',
  // More input than the prompt has bytes.
  'input_above_bound',
  // No input at all, though there was a prompt.
  'input_zero',
  // More reasoning than output.
  'reasoning_above_output',
  // More output than was requested.
  'output_above_cap',
  // No output, though some was delivered.
  'output_zero',
  // Less output than several answers have by our own count.
  'output_below_count',
] as const;

/** The name of a broken rule. */
export type UsageFault = (typeof usageFaults)[number];

/** Holds each half as the upstream reported it: counts, the rule that it broke, or nothing yet. */
export interface UsageReport {
  readonly input: InputCounts | UsageFault | undefined;
  readonly output: OutputCounts | UsageFault | undefined;
  /** The web searches that the vendor ran; absent if it reported none. */
  readonly searches?: number | UsageFault | undefined;
}

/** Nothing reported yet. */
export const noReport: UsageReport = { input: undefined, output: undefined };

const countMax = 2 ** 31 - 1;

/** Returns the searches in a `usage` object: those of a vendor's tool, or of a model that always searches; undefined if there are none. */
export function readSearches(usage: Readonly<Record<string, unknown>>): UsageReport['searches'] {
  const tools = usage['server_tool_use'];
  const ofTool = typeof tools === 'object' && tools !== null ? (tools as Record<string, unknown>)['web_search_requests'] : undefined;
  const searches = ofTool ?? usage['num_search_queries'] ?? undefined;
  return searches === undefined ? undefined : isCount(searches) ? searches : 'not_a_count';
}

/** Reports whether a value of a wire format can be a number of tokens. */
export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= countMax;
}

/** Returns all input, cached or not. */
export function totalInput(counts: InputCounts): number {
  return counts.inputTokens + counts.cacheReadTokens + counts.cacheWrite5mTokens + counts.cacheWrite1hTokens;
}

/** Returns the rule that well-formed input counts break for a prompt of at most `inputMax` tokens. */
export function inputFault(counts: InputCounts, inputMax: number): UsageFault | undefined {
  const total = totalInput(counts);
  if (total > inputMax) return 'input_above_bound';
  return total === 0 ? 'input_zero' : undefined;
}

/** Returns the rule that well-formed output counts break, given the cap that was sent upstream and whether anything was delivered. */
export function outputFault(counts: OutputCounts, outputMax: number, delivered: boolean): UsageFault | undefined {
  if (counts.reasoningTokens > counts.outputTokens) return 'reasoning_above_output';
  if (counts.outputTokens > outputMax) return 'output_above_cap';
  return counts.outputTokens === 0 && delivered ? 'output_zero' : undefined;
}

/** The share of our own count below which a reported output is implausible. */
const plausibleShare = 2 / 3;

/** Returns the rule that valid output counts of several answers break, given our own count of all of them. */
export function outputFaultByCount({ outputTokens }: OutputCounts, counted: OutputCounts): UsageFault | undefined {
  return outputTokens < counted.outputTokens * plausibleShare ? 'output_below_count' : undefined;
}
