// Converts the usage that responses upstreams report to canonical classes. The figures are those of chat-completions under other names.
import type { UsageReport } from '../../tokens/usage-report.js';
import { readUsage as readChatUsage } from '../chat-completions/usage.js';
import { isObject } from '../answers/stream-decoder.js';

/** Returns the report in a `usage` object. `runsTools`: the vendor may have run tools. */
export function readUsage(usage: unknown, runsTools?: boolean): UsageReport {
  if (!isObject(usage)) return readChatUsage(usage);
  const figures = {
    prompt_tokens: usage['input_tokens'],
    prompt_tokens_details: usage['input_tokens_details'],
    completion_tokens: usage['output_tokens'],
    completion_tokens_details: usage['output_tokens_details'],
    total_tokens: usage['total_tokens'],
  };
  return readChatUsage(figures, runsTools);
}
