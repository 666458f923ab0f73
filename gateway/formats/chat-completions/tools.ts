// The tools of a chat-completions request and the choice among them → the common prompt.
import { type Tool, ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import type { Demands } from '../requests/required-capabilities.js';
import { assertNoFileIds, cacheTtl } from '../requests/media.js';
import { type Choice, choiceModes, passChoiceOn } from '../requests/openai-fields.js';
import type { ChatCompletionRequest } from './schema.js';
import type { CustomToolParam, FunctionToolParam, ToolChoiceParam, ToolParam } from './tool-schema.js';

const only = 'choose a model behind an upstream of the chat-completions format';

/** Translates functions and custom tools; others reach only upstreams of this format. Raises invalid_request or unsupported_field. */
export function translateTools(params: readonly ToolParam[], demands: Demands): Tool[] {
  const names = new Set<string>();
  const tools: Tool[] = [];
  for (const [index, param] of params.entries()) {
    const path = `tools[${index}]`;
    const name = nameOf(param);
    if (name !== undefined && names.has(name))
      throw fieldError(
        'invalid_request',
        `${path}.${String(param.type)}.name`,
        `"${name}" is the name of an earlier tool; names must be unique`,
      );
    if (name !== undefined) names.add(name);
    if (param.type === 'function') tools.push(translateFunction(param, demands));
    else if (param.type === 'custom') tools.push(translateCustom(param, path, demands));
    else passToolOn(param, path, demands);
  }
  return tools;
}

function translateFunction(param: FunctionToolParam, demands: Demands): Tool {
  const { function: tool } = param;
  noteOthers(param, ['type', 'function', 'cache_control'], 'tools.', demands);
  noteOthers(tool, ['name', 'description', 'parameters', 'strict', 'cache_control'], 'tools.function.', demands);
  return {
    name: tool.name,
    description: tool.description ?? '',
    parametersJson: tool.parameters === null || tool.parameters === undefined ? '' : JSON.stringify(tool.parameters),
    strict: tool.strict ?? undefined,
    cacheTtl: cacheTtl(param) ?? cacheTtl(tool),
  };
}

function translateCustom(param: CustomToolParam, path: string, demands: Demands): Tool {
  const { custom: tool } = param;
  noteOthers(param, ['type', 'custom'], 'tools.', demands);
  noteOthers(tool, ['name', 'description', 'format'], 'tools.custom.', demands);
  return { name: tool.name, description: tool.description ?? '', parametersJson: '', custom: grammarOf(tool, path, demands) };
}

function grammarOf({ format }: CustomToolParam['custom'], path: string, demands: Demands): NonNullable<Tool['custom']> {
  if (format === null || format === undefined || format.type === 'text') return { grammarSyntax: '', grammar: '' };
  if (format.type === 'grammar') return { grammarSyntax: format.grammar.syntax, grammar: format.grammar.definition };
  demands.addForeign(format);
  demands.refuseElsewhere(`${path}.custom.format.type`, 'the model accepts text or grammar');
  return { grammarSyntax: '', grammar: '' };
}

function passToolOn(param: Exclude<ToolParam, FunctionToolParam | CustomToolParam>, path: string, demands: Demands): void {
  // They may be run by the vendor, who charges by the call, adds unbounded input, or uses its own account.
  demands.addVendorTool(`${path}.type`, String(param.type));
  assertNoFileIds(param, path);
  demands.addImpliedTool(param);
  demands.refuseElsewhere(`${path}.type`, `the model supports only tools of type "function" and "custom"; describe it as one, or ${only}`);
}

function noteOthers(value: object, translated: readonly string[], prefix: string, demands: Demands): void {
  for (const [name, field] of Object.entries(value)) {
    if (field === null || translated.includes(name)) continue;
    demands.droppedElsewhere.add(`${prefix}${name}`);
    demands.addForeign(field);
  }
}

/** Translates `tool_choice` and `parallel_tool_calls`. Raises invalid_request if the choice cannot be honoured. */
export function translateToolChoice(body: ChatCompletionRequest, tools: Tool[], demands: Demands): Choice {
  const params = body.tools ?? [];
  const choice = body.tool_choice ?? undefined;
  const disableParallelCalls = body.parallel_tool_calls === false && params.length > 0;
  const chosen = (mode: Mode, name = '', offered = tools): Choice => ({ offered, toolChoice: { mode, name, disableParallelCalls } });
  const open = (): Choice => (disableParallelCalls ? chosen(Mode.MODE_AUTO) : { offered: tools, toolChoice: undefined });
  if (choice === undefined) return open();
  if (typeof choice === 'string') {
    if (choice === 'required' && params.length === 0)
      throw fieldError('invalid_request', 'tool_choice', '"required" requires tools; send at least one, or use "auto"');
    const mode = choiceModes[choice];
    if (mode === undefined) return passChoiceOn('tool_choice', choice, open, only, demands);
    return params.length === 0 ? open() : chosen(mode);
  }
  switch (choice.type) {
    case 'function':
    case 'custom':
      assertOffered([choice], params);
      return chosen(Mode.MODE_NAMED, nameOf(choice));
    case 'allowed_tools': {
      const { mode, tools: allowed } = choice.allowed_tools;
      assertOffered(allowed, params);
      const names = allowed.map(nameOf);
      return chosen(
        mode === 'auto' ? Mode.MODE_AUTO : Mode.MODE_REQUIRED,
        '',
        tools.filter((tool) => names.includes(tool.name)),
      );
    }
    default:
      return passChoiceOn('tool_choice.type', choice, open, only, demands);
  }
}

type Named = ToolParam | Exclude<ToolChoiceParam, string>;

/** Returns the name of a function or custom tool; undefined for kinds whose names only their vendor may know. */
function nameOf(named: Named): string | undefined {
  if (named.type === 'function') return named.function.name;
  return named.type === 'custom' ? named.custom.name : undefined;
}

function assertOffered(chosen: readonly Named[], params: readonly ToolParam[]): void {
  const names = params.map(nameOf);
  for (const name of chosen.map(nameOf)) {
    if (name !== undefined && !names.includes(name))
      throw fieldError('invalid_request', 'tool_choice', `there is no tool named "${name}" in tools`);
  }
}
