// The tools of a messages request and the choice among them → the common prompt.
import { type Tool, type ToolChoice, ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { webSearchUnit } from '#rules/money/pricing.js';
import { fieldError } from '../requests/body-reader.js';
import { assertNoFileIds, type Reading } from './reading.js';
import { CustomTool, type CustomToolParam, type ToolChoiceParam, type ToolParam } from './tool-schema.js';

/** Tools that the client runs, and the search among its own tools: they cost nothing but tokens. A vendor charges others by the call, or adds unbounded input. */
const costTokensOnly = /^(bash|text_editor|memory|computer|computer_toolset|browser|browser_toolset|tool_search_tool_(bm25|regex))_\d{8}$/;

const countMax = 2 ** 31 - 1;
/** The search that the vendor runs and counts. */
const webSearch = /^web_search_\d{8}$/;

function maxUsesOf(param: object, path: string): number | undefined {
  const { max_uses: maxUses } = param as { max_uses?: unknown };
  if (maxUses === undefined || maxUses === null) return undefined;
  if (typeof maxUses === 'number' && Number.isInteger(maxUses) && maxUses >= 1 && maxUses <= countMax) return maxUses;
  throw fieldError('invalid_request', `${path}.max_uses`, 'must be a positive integer');
}

/** Translates the tools that the caller describes; others reach only upstreams of this format. Raises invalid_request or unsupported_field. */
export function translateTools(params: readonly ToolParam[], reading: Reading): Tool[] {
  const names = new Set<unknown>();
  const tools: Tool[] = [];
  let hasSearch = false;
  for (const [index, param] of params.entries()) {
    const path = `tools.${index}`;
    const name = (param as { name?: unknown }).name;
    if (name !== undefined && names.has(name)) throw fieldError('invalid_request', `${path}.name`, 'Tool names must be unique');
    names.add(name);
    const ttl = reading.cacheTtl(param, path);
    if (webSearch.test(String(param.type))) {
      // The vendor applies max_uses to each tool, but the hold and the charge cover the maximum of one.
      if (hasSearch) throw fieldError('invalid_request', `${path}.type`, 'only one web search tool is allowed; remove the others');
      hasSearch = true;
    }
    if (isCustom(param)) tools.push(translateTool(param, ttl, reading));
    else passToolOn(param, path, reading);
  }
  return tools;
}

function isCustom(param: ToolParam): param is CustomToolParam {
  return param.type === 'custom' || param.type === null || param.type === undefined;
}

const translatedFields = ['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'];

function translateTool(param: CustomToolParam, cacheTtl: string | undefined, reading: Reading): Tool {
  reading.demands.addUnhonoured(param, CustomTool, 'tools.');
  reading.countOthers(param, translatedFields);
  return {
    name: param.name,
    description: param.description ?? '',
    parametersJson: JSON.stringify(param.input_schema),
    strict: param.strict ?? undefined,
    cacheTtl,
  };
}

function passToolOn(param: Exclude<ToolParam, CustomToolParam>, path: string, { demands }: Reading): void {
  const type = param.type as unknown as string;
  if (webSearch.test(type)) demands.addVendorTool(`${path}.type`, type, webSearchUnit, { maxUses: maxUsesOf(param, path) });
  else if (!costTokensOnly.test(type)) demands.addVendorTool(`${path}.type`, type);
  assertNoFileIds(param, path);
  demands.addImpliedTool(param);
  demands.refuseElsewhere(
    `${path}.type`,
    `the model does not support built-in tools such as "${type.slice(0, 64)}"; describe your own with name and input_schema, or choose a model behind an upstream of the messages format`,
  );
}

const modes = { auto: Mode.MODE_AUTO, any: Mode.MODE_REQUIRED, tool: Mode.MODE_NAMED, none: Mode.MODE_NONE } as const;

/** Translates the choice among these tools. Raises invalid_request if it cannot be honoured. */
export function translateToolChoice(
  choice: ToolChoiceParam | null | undefined,
  params: readonly ToolParam[],
  reading: Reading,
): ToolChoice | undefined {
  if (choice === null || choice === undefined) return undefined;
  switch (choice.type) {
    case 'auto':
    case 'none':
      break;
    case 'any':
      if (params.length === 0) throw fieldError('invalid_request', 'tool_choice', '"any" requires tools; send at least one, or use "auto"');
      break;
    case 'tool':
      if (params.some((param) => isCustom(param) && param.name === choice.name)) break;
      // Tools whose schema is implied may have names that only their vendor knows.
      if (!params.every(isCustom)) return undefined;
      throw fieldError('invalid_request', 'tool_choice.name', `there is no tool named "${choice.name}" in tools`);
    default:
      reading.passOn(choice, 'tool_choice');
      reading.demands.refuseElsewhere('tool_choice.type', 'the model accepts auto, any, tool or none');
      return undefined;
  }
  if (params.length === 0) return undefined;
  const disableParallelCalls = choice.type !== 'none' && choice.disable_parallel_tool_use === true;
  return { mode: modes[choice.type], name: choice.type === 'tool' ? choice.name : '', disableParallelCalls };
}
