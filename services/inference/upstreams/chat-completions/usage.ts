// Usage as chat-completions upstreams report it, in canonical classes. `prompt_tokens` includes what came from and went to caches.
import { isCount, noReport, type UsageReport } from '../../tokens/usage-report.js';
import { isObject } from '../stream-decoder.js';

/** The report in a `usage` object; undefined when there is none. */
export function readUsage(usage: unknown): UsageReport | undefined {
  if (usage === undefined || usage === null) return undefined;
  if (!isObject(usage)) return { input: 'not_a_count', output: 'not_a_count' };
  return { input: readInput(usage), output: readOutput(usage) };
}

function readInput(usage: Readonly<Record<string, unknown>>): UsageReport['input'] {
  const prompt = usage['prompt_tokens'];
  if (prompt === undefined || prompt === null) return noReport.input;
  const cached = detail(usage['prompt_tokens_details'], 'cached_tokens');
  const written = detail(usage['prompt_tokens_details'], 'cache_write_tokens');
  if (!isCount(prompt) || !isCount(cached) || !isCount(written)) return 'not_a_count';
  if (cached + written > prompt) return 'cached_above_input';
  return {
    inputTokens: prompt - cached - written,
    cacheReadTokens: cached,
    cacheWrite5mTokens: written,
    cacheWrite1hTokens: 0,
  };
}

function readOutput(usage: Readonly<Record<string, unknown>>): UsageReport['output'] {
  const completion = usage['completion_tokens'];
  if (completion === undefined || completion === null) return noReport.output;
  const reasoning = detail(usage['completion_tokens_details'], 'reasoning_tokens');
  if (!isCount(completion) || !isCount(reasoning)) return 'not_a_count';
  return { outputTokens: completion, reasoningTokens: reasoning };
}

function detail(details: unknown, name: string): unknown {
  return (isObject(details) ? details[name] : undefined) ?? 0;
}
