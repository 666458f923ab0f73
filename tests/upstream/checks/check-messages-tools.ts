// The rules for the tools of a messages request.
import { anyObject, insist, type Json, listOf, nameOf, objectOf, optionalFlag, Refused, textOf, wordOf } from './check.js';
import { checkStrictSchema } from './check-schema.js';
import type { VendorRules } from './rules.js';

/** Types of tools that have an implicit schema or run at the vendor; any fields are accepted. */
const builtIn =
  /^(bash|text_editor|memory|computer|browser|computer_toolset|browser_toolset|web_search|web_fetch|code_execution|tool_search_tool_bm25|tool_search_tool_regex)_\d{8}$/;
const options = [
  'description',
  'strict',
  'cache_control',
  'type',
  'defer_loading',
  'input_examples',
  'eager_input_streaming',
  'allowed_callers',
];

/** Raises Refused if the vendor would respond with a 400. */
export function checkMessagesTools(body: Json, rules: VendorRules): void {
  // An empty list is equivalent to no list.
  if (body['tools'] === undefined || (Array.isArray(body['tools']) && body['tools'].length === 0)) {
    return insist(body['tool_choice'] === undefined, 'tool_choice: tool_choice may only be specified while providing tools.');
  }
  const names = listOf(body['tools'], 'tools').map((entry, index) => checkTool(entry, `tools.${index}`, rules));
  insist(new Set(names).size === names.length, 'tools: Tool names must be unique.');
  if (body['tool_choice'] === undefined) return;
  const choice = anyObject(body['tool_choice'], 'tool_choice');
  const type = wordOf(choice['type'], 'tool_choice.type', ['auto', 'any', 'tool', 'none']);
  objectOf(
    choice,
    `tool_choice.${type}`,
    type === 'tool' ? ['type', 'name'] : ['type'],
    type === 'none' ? [] : ['disable_parallel_tool_use'],
  );
  if (type === 'tool')
    insist(names.includes(textOf(choice['name'], 'tool_choice.name')), `Tool '${String(choice['name'])}' not found in provided tools`);
  const thinking = (body['thinking'] as Json | undefined)?.['type'];
  const thinks = thinking !== undefined && thinking !== 'disabled';
  insist(
    rules.limitsThinking !== true || !thinks || (type !== 'any' && type !== 'tool'),
    'Thinking may not be enabled when tool_choice forces tool use.',
  );
}

function checkTool(value: unknown, path: string, { enforcesStrictTools = false }: VendorRules): string {
  const tool = anyObject(value, path);
  const type = tool['type'] ?? 'custom';
  if (type !== 'custom') {
    if (!builtIn.test(textOf(type, `${path}.type`)))
      throw new Refused(`${path}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`);
    return textOf(tool['name'] ?? type, `${path}.name`);
  }
  objectOf(tool, `${path}.custom`, ['name', 'input_schema'], options);
  if (tool['description'] !== undefined) textOf(tool['description'], `${path}.custom.description`);
  const schema = anyObject(tool['input_schema'], `${path}.custom.input_schema`);
  insist(schema['type'] === 'object', `${path}.custom.input_schema.type: Input should be 'object'`);
  for (const word of ['oneOf', 'allOf', 'anyOf'])
    insist(
      schema[word] === undefined,
      `${path}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
    );
  optionalFlag(tool['strict'], `${path}.custom.strict`);
  if (tool['strict'] === true && enforcesStrictTools) checkStrictSchema(schema, `${path}.custom.input_schema`, false);
  return nameOf(tool['name'], `${path}.custom.name`, 128);
}
