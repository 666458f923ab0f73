// Replaces the custom tools in the body of a caller of this format with functions, for servers that have none. Pure.
import { callArgumentsJson, customToolParameters, toolDescription } from '../../requests/custom-tools.js';
import { isObject, type JsonObject, textOrEmpty } from '../../answers/stream-decoder.js';

// Quotes inside texts are escaped, so this can only be a field of an object.
const customType = /"type"\s*:\s*"custom"/;

/** Reports whether a body may have custom tools, choose one or call one. */
export function mayHaveCustomTools(fieldsJson: string): boolean {
  // Finding a word takes a tenth of the time of the expression.
  return fieldsJson.includes('"custom"') && customType.test(fieldsJson);
}

/** Returns the fields with functions in place of custom tools, in the list of tools, in the choice among them and in past calls. */
export function withFunctions({ tools, tool_choice: choice, messages, ...fields }: JsonObject): JsonObject {
  return {
    ...fields,
    ...(tools === undefined ? {} : { tools: each(tools, functionOf) }),
    ...(choice === undefined ? {} : { tool_choice: choiceOf(choice) }),
    messages: each(messages, (message) => {
      if (!isObject(message) || !Array.isArray(message['tool_calls'])) return message;
      return { ...message, tool_calls: each(message['tool_calls'], callOf) };
    }),
  };
}

function each(list: unknown, change: (item: unknown) => unknown): unknown {
  return Array.isArray(list) ? list.map(change) : list;
}

/** Returns what is under `custom`; undefined for anything else. */
function customIn(value: unknown): JsonObject | undefined {
  return isObject(value) && value['type'] === 'custom' && isObject(value['custom']) ? value['custom'] : undefined;
}

function functionOf(tool: unknown): unknown {
  const custom = customIn(tool);
  if (custom === undefined) return tool;
  const { name, description, format } = custom;
  const grammar = isObject(format) && isObject(format['grammar']) ? format['grammar'] : {};
  const described = toolDescription({
    description: textOrEmpty(description),
    custom: { grammarSyntax: textOrEmpty(grammar['syntax']), grammar: textOrEmpty(grammar['definition']) },
  });
  return {
    type: 'function',
    function: { name, description: described === '' ? undefined : described, parameters: customToolParameters() },
  };
}

function choiceOf(choice: unknown): unknown {
  const custom = customIn(choice);
  if (custom !== undefined) return { type: 'function', function: { name: custom['name'] } };
  if (!isObject(choice) || !isObject(choice['allowed_tools'])) return choice;
  const { allowed_tools: allowed } = choice;
  return { ...choice, allowed_tools: { ...allowed, tools: each(allowed['tools'], choiceOf) } };
}

function callOf(call: unknown): unknown {
  const custom = customIn(call);
  if (custom === undefined) return call;
  const args = callArgumentsJson({ argumentsJson: textOrEmpty(custom['input']), isCustom: true });
  return { id: (call as JsonObject)['id'], type: 'function', function: { name: custom['name'], arguments: args } };
}
