// The tools and the choice among them, which have the same fields in both of OpenAI's formats. Pure.
import { type Prompt, type Tool, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../../answers/stream-decoder.js';

/** Returns the fields of the tools; the formats differ in how they write a tool, and the choice of one by its name. */
export function toolFields(
  { tools, toolChoice }: Prompt,
  dropped: Set<string>,
  toTool: (tool: Tool) => JsonObject,
  namedChoice: (name: string) => JsonObject,
): JsonObject {
  // OpenAI rejects a tool choice without tools.
  if (tools.length === 0) return {};
  if (tools.some(({ cacheTtl }) => cacheTtl !== undefined)) dropped.add('cache_control');
  return {
    tools: tools.map(toTool),
    tool_choice:
      toolChoice?.mode === ToolChoice_Mode.MODE_NAMED
        ? namedChoice(toolChoice.name)
        : choiceWords[toolChoice?.mode ?? ToolChoice_Mode.MODE_UNSPECIFIED],
    parallel_tool_calls: toolChoice?.disableParallelCalls === true ? false : undefined,
  };
}

const choiceWords: Partial<Record<ToolChoice_Mode, string>> = {
  [ToolChoice_Mode.MODE_AUTO]: 'auto',
  [ToolChoice_Mode.MODE_NONE]: 'none',
  [ToolChoice_Mode.MODE_REQUIRED]: 'required',
};
