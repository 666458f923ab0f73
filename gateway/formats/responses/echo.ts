// What a responses answer repeats of its request. Pure.
import type { Echo } from '../format.js';
import type { ResponseRequest } from './schema.js';
import type { ToolNames } from './tool-names.js';

/** Returns the fields of the request that the vendor repeats in answers, with its defaults for those that are absent. */
export function echoOf(body: ResponseRequest, toolNames: ToolNames, isStored: boolean): Echo {
  const { instructions, metadata, temperature, top_p: topP, tools, reasoning, text, truncation, user } = body;
  return {
    fields: {
      background: false,
      instructions: instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      max_tool_calls: body.max_tool_calls ?? null,
      metadata: metadata ?? {},
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      previous_response_id: body.previous_response_id ?? null,
      prompt_cache_key: body.prompt_cache_key ?? null,
      reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? reasoning?.generate_summary ?? null },
      safety_identifier: body.safety_identifier ?? null,
      service_tier: 'default',
      store: isStored,
      temperature: temperature ?? 1,
      text: { ...text, format: text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      tools: tools ?? [],
      top_logprobs: body.top_logprobs ?? 0,
      top_p: topP ?? 1,
      truncation: truncation ?? 'disabled',
      user: user ?? null,
    },
    toolNames,
  };
}
