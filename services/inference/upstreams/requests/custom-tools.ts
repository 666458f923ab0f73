// Custom tools, whose calls carry free text, for upstreams without them: such an upstream gets a function with one text parameter. Pure.
import type { Prompt, Tool, ToolCallPart } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../answers/stream-decoder.js';

/** The parameter of the function that represents a custom tool. */
const parameter = 'input';

/** Returns the schema of the function that represents a custom tool. */
export function customToolParameters(): JsonObject {
  return { type: 'object', properties: { [parameter]: { type: 'string' } }, required: [parameter], additionalProperties: false };
}

/** Returns the description of a tool, which for a custom tool includes the grammar of its text. */
export function toolDescription({ description, custom }: Pick<Tool, 'description' | 'custom'>): string {
  if (custom === undefined || custom.grammar === '') return description;
  return `${description}\n\nThe parameter "${parameter}" must match this ${custom.grammarSyntax} grammar:\n${custom.grammar}`.trimStart();
}

/** Returns the arguments of a past call as JSON. */
export function callArgumentsJson({ argumentsJson, isCustom }: Pick<ToolCallPart, 'argumentsJson' | 'isCustom'>): string {
  return isCustom === true ? JSON.stringify({ [parameter]: argumentsJson }) : argumentsJson;
}

/** Returns the names of the custom tools; undefined if there are none. */
export function customToolNames(prompt: Prompt | undefined): ReadonlySet<string> | undefined {
  const names = (prompt?.tools ?? []).flatMap(({ name, custom }) => (custom === undefined ? [] : [name]));
  return names.length === 0 ? undefined : new Set(names);
}

/** Returns the text in the arguments of the function; the arguments themselves if the model did not keep to the schema. */
export function customToolInput(argumentsJson: string): string {
  // An answer that ends at its cap may be cut off within the text.
  for (const end of ['', '"}', '}']) {
    try {
      const value: unknown = JSON.parse(argumentsJson + end);
      const text = typeof value === 'object' && value !== null ? (value as JsonObject)[parameter] : value;
      if (typeof text === 'string') return text;
    } catch {
      continue;
    }
  }
  return argumentsJson;
}
