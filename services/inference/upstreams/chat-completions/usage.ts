// Converts the usage that chat-completions upstreams report to canonical classes. `prompt_tokens` includes cache reads and writes.
import {
  type InputCounts,
  isCount,
  noReport,
  type OutputCounts,
  readSearches,
  totalInput,
  type UsageReport,
} from '../../tokens/usage-report.js';
import { isObject } from '../answers/stream-decoder.js';

/** Returns the report in a `usage` object. `runsTools`: the vendor may have run tools, whose results some count in the total alone. */
export function readUsage(usage: unknown, runsTools = false): UsageReport {
  if (!isObject(usage)) return { input: 'not_a_count', output: 'not_a_count' };
  return { input: readInput(usage), output: readOutput(usage, runsTools), searches: readSearches(usage) };
}

/**
 * Merges two reports, input and output separately. The later figures replace the earlier ones, because a stream's running figures end with the
 * final ones. A half without figures, or with zeros, does not replace an earlier one; if the later one adds nothing, the earlier report itself is
 * returned.
 */
export function mergeReports(earlier: UsageReport, later: UsageReport): UsageReport {
  const keepsInput = isNothing(later.input, totalInput) && earlier.input !== undefined;
  const keepsOutput = isNothing(later.output, outputOf) && earlier.output !== undefined;
  if (keepsInput && keepsOutput && later.searches === undefined) return earlier;
  return {
    input: keepsInput ? earlier.input : later.input,
    output: keepsOutput ? earlier.output : later.output,
    searches: later.searches ?? earlier.searches,
  };
}

function isNothing<T extends object>(half: T | string | undefined, total: (counts: T) => number): boolean {
  return half === undefined || (typeof half === 'object' && total(half) === 0);
}

function outputOf({ outputTokens }: OutputCounts): number {
  return outputTokens;
}

type Usage = Readonly<Record<string, unknown>>;

function readInput(usage: Usage): UsageReport['input'] {
  const prompt = usage['prompt_tokens'];
  if (prompt === undefined || prompt === null) return noReport.input;
  // DeepSeek and Moonshot report (or used to report) the count of cached tokens alongside the prompt's.
  const cached = detail(usage['prompt_tokens_details'], 'cached_tokens') ?? usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens'] ?? 0;
  const { written, forAnHour } = writtenIn(usage['prompt_tokens_details']);
  if (!isCount(prompt) || !isCount(cached) || !isCount(written) || !isCount(forAnHour)) return 'not_a_count';
  if (cached + written > prompt) return 'cached_above_input';
  if (forAnHour > written) return 'cache_write_parts_above_total';
  const counts: InputCounts = {
    inputTokens: prompt - cached - written,
    cacheReadTokens: cached,
    cacheWrite5mTokens: written - forAnHour,
    cacheWrite1hTokens: forAnHour,
  };
  return counts;
}

/**
 * Returns the tokens of the prompt that were written to caches, and those of them that are kept for an hour. OpenAI, Alibaba and LiteLLM each have
 * their own names for them.
 */
function writtenIn(details: unknown): { readonly written: unknown; readonly forAnHour: unknown } {
  const written =
    detail(details, 'cache_write_tokens') ?? detail(details, 'cache_creation_input_tokens') ?? detail(details, 'cache_creation_tokens');
  const parts = detail(details, 'cache_creation') ?? detail(details, 'cache_creation_token_details');
  return { written: written ?? 0, forAnHour: detail(parts, 'ephemeral_1h_input_tokens') ?? 0 };
}

function readOutput(usage: Usage, runsTools: boolean): UsageReport['output'] {
  const completion = usage['completion_tokens'];
  if (completion === undefined || completion === null) return noReport.output;
  const stated = detail(usage['completion_tokens_details'], 'reasoning_tokens') ?? undefined;
  if (!isCount(completion) || !(stated === undefined || isCount(stated))) return 'not_a_count';
  const beyond = beyondTotal(usage, completion);
  // xAI leaves reasoning out of the completion but includes it in the total; it is output in any case.
  if (stated !== undefined) return { outputTokens: beyond === stated ? completion + stated : completion, reasoningTokens: stated };
  const reasoning = runsTools || isCached(usage, beyond) ? 0 : beyond;
  return { outputTokens: completion + reasoning, reasoningTokens: reasoning };
}

/**
 * Returns what the total has beyond the prompt and the completion. Gemini's servers of this format send no details, so its thoughts, which Google
 * bills as output, are in the total alone (9 + 1 tokens, 103 in total: discuss.ai.google.dev/t/127400); so are the results of tools that Google
 * runs, which are input (GoogleGenAiTokenUsage in LangChain4j). Perplexity's total is the plain sum.
 */
function beyondTotal({ prompt_tokens: prompt, total_tokens: total }: Usage, completion: number): number {
  // Without a prompt, the report has only the other half of the figures.
  return isCount(total) && isCount(prompt) && prompt > 0 ? Math.max(0, total - prompt - completion) : 0;
}

/** Reports whether these tokens came from or went to a cache: some proxies count them alongside the prompt (SamSaffron/term-llm#424). */
function isCached(usage: Usage, tokens: number): boolean {
  const details = usage['prompt_tokens_details'];
  const read = detail(details, 'cached_tokens') ?? usage['cache_read_input_tokens'] ?? usage['prompt_cache_hit_tokens'] ?? 0;
  const written = detail(details, 'cache_write_tokens') ?? usage['cache_creation_input_tokens'] ?? 0;
  return [read, written, Number(read) + Number(written)].includes(tokens);
}

function detail(details: unknown, name: string): unknown {
  return isObject(details) ? details[name] : undefined;
}
