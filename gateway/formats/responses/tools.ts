// The tools of a responses request and the choice among them → the common prompt.
import { type Tool, ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { webSearchUnit } from '#rules/money/pricing.js';
import { fieldError } from '../requests/body-reader.js';
import { assertNoFileIds } from '../requests/media.js';
import { type Choice, choiceModes, passChoiceOn } from '../requests/openai-fields.js';
import type { Demands } from '../requests/required-capabilities.js';
import type { ResponseRequest } from './schema.js';
import { type ToolNames, wireToolName } from './tool-names.js';
import type { Named, NamespaceTool, OwnTool, ToolParam } from './tool-schema.js';

const only = 'choose a model behind an upstream of the responses format';

/** A body's tools, and the items that may hold more of them. */
type WithTools = Pick<ResponseRequest, 'tools' | 'input'>;

/** Returns the tools of a body, those in its input included, each with its path. */
function toolsOf({ tools, input }: WithTools): { param: ToolParam; path: string }[] {
  const listed = (params: readonly ToolParam[], at: string) => params.map((param, index) => ({ param, path: `${at}[${index}]` }));
  const items = typeof input === 'string' ? [] : input;
  const added = items.flatMap((item, index) => (item.type === 'additional_tools' ? listed(item.tools, `input[${index}].tools`) : []));
  return [...listed(tools ?? [], 'tools'), ...added];
}

/** Reports whether a body has tools. */
export function hasTools({ tools, input }: WithTools): boolean {
  return (tools ?? []).length > 0 || (typeof input !== 'string' && input.some((item) => item.type === 'additional_tools'));
}

/** The search that the vendor runs, whose calls are items of the answer. */
const webSearch = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/;

/** Reports whether a tool is the search that Codex offers in every call, whether or not its model has one: its users did not ask for it. */
export function isUnasked({ type }: { readonly type: unknown }, originator: string): boolean {
  return originator.startsWith('codex') && webSearch.test(String(type));
}

/** Translates functions and custom tools; others reach only upstreams of this format. Raises invalid_request or unsupported_field. */
export function translateTools(body: ResponseRequest, names: ToolNames, demands: Demands, originator: string): Tool[] {
  const maxUses = maxUsesOf(body);
  const tools = new ToolList(names, demands, maxUses);
  for (const { param, path } of toolsOf(body)) {
    if (isUnasked(param, originator)) offerUnasked(param, path, demands, maxUses);
    else tools.add(param, path);
  }
  return tools.list;
}

/** Returns how many calls of the vendor's tools the caller allows. The vendor rejects what is not a number of calls. */
function maxUsesOf(body: object): number | undefined {
  const { max_tool_calls: calls } = body as { max_tool_calls?: unknown };
  return typeof calls === 'number' && Number.isInteger(calls) && calls >= 1 ? calls : undefined;
}

/** Offers a search to upstreams that may run it; for others it is dropped. */
function offerUnasked(param: ToolParam, path: string, demands: Demands, maxUses: number | undefined): void {
  assertNoFileIds(param, path);
  demands.addImpliedTool(param);
  addVendorTool(param.type, `${path}.type`, demands, { maxUses, optionalToolJson: JSON.stringify(param) });
  demands.droppedElsewhere.add(`tools.${param.type as string}`);
}

class ToolList {
  readonly list: Tool[] = [];
  readonly #names = new Set<string>();

  constructor(
    private readonly names: ToolNames,
    private readonly demands: Demands,
    private readonly maxUses: number | undefined,
  ) {}

  add(param: ToolParam, path: string): void {
    if (param.type === 'function' || param.type === 'custom') this.#addOwn(param, undefined, path);
    else if (param.type === 'namespace') this.#addNamespace(param, path);
    else passToolOn(param, path, this.demands, this.maxUses);
  }

  #addNamespace({ name: namespace, description, tools }: NamespaceTool, path: string): void {
    for (const [index, tool] of tools.entries()) {
      if (tool.type === 'function' || tool.type === 'custom') this.#addOwn(tool, namespace, `${path}.tools[${index}]`);
      else passToolOn(tool, `${path}.tools[${index}]`, this.demands, this.maxUses);
    }
    this.demands.addForeign(description);
  }

  #addOwn(param: OwnTool, namespace: string | undefined, path: string): void {
    const name = wireToolName(this.names, param.name, namespace);
    if (this.#names.has(name))
      throw fieldError('invalid_request', `${path}.name`, `"${param.name}" is the name of an earlier tool; names must be unique`);
    this.#names.add(name);
    noteOthers(param, this.demands);
    const common = { name, description: param.description ?? '' };
    if (param.type === 'custom') this.list.push({ ...common, parametersJson: '', custom: grammarOf(param, path, this.demands) });
    else {
      const parametersJson = param.parameters === null || param.parameters === undefined ? '' : JSON.stringify(param.parameters);
      this.list.push({ ...common, parametersJson, strict: param.strict ?? undefined });
    }
  }
}

function grammarOf({ format }: Extract<OwnTool, { type: 'custom' }>, path: string, demands: Demands): NonNullable<Tool['custom']> {
  if (format === null || format === undefined || format.type === 'text') return { grammarSyntax: '', grammar: '' };
  if (format.type === 'grammar') return { grammarSyntax: format.syntax, grammar: format.definition };
  demands.addForeign(format);
  demands.refuseElsewhere(`${path}.format.type`, 'the model accepts text or grammar');
  return { grammarSyntax: '', grammar: '' };
}

/** Tools that the client runs, although their schema is the vendor's. */
const runByClient: ReadonlySet<unknown> = new Set(['local_shell', 'apply_patch']);

function isClientSearch(param: { type: unknown; execution?: unknown }): boolean {
  return param.type === 'tool_search' && param.execution === 'client';
}

function passToolOn(param: { type: unknown }, path: string, demands: Demands, maxUses: number | undefined): void {
  // All others may be run by the vendor, who charges by the call, adds unbounded input, or uses its own account.
  if (!runByClient.has(param.type) && !isClientSearch(param)) addVendorTool(param.type, `${path}.type`, demands, { maxUses });
  assertNoFileIds(param, path);
  demands.addImpliedTool(param);
  // It only finds further tools of the client.
  if (isClientSearch(param)) return demands.droppedElsewhere.add('tools.tool_search');
  demands.refuseElsewhere(`${path}.type`, `the model supports only tools of type "function" and "custom"; describe it as one, or ${only}`);
}

function addVendorTool(type: unknown, path: string, demands: Demands, more: Parameters<Demands['addVendorTool']>[3] = {}): void {
  const name = String(type);
  demands.addVendorTool(path, name, webSearch.test(name) ? webSearchUnit : '', more);
}

/** Notes the tools in an item of unknown type, some of which a vendor may run. */
export function noteVendorTools(tools: readonly unknown[], path: string, demands: Demands): void {
  for (const [index, tool] of tools.entries()) {
    const { type, tools: nested } = (tool ?? {}) as { type?: unknown; tools?: unknown };
    if (Array.isArray(nested)) noteVendorTools(nested, `${path}[${index}].tools`, demands);
    if (type !== 'function' && type !== 'custom' && type !== 'namespace') addVendorTool(type, `${path}[${index}].type`, demands);
  }
}

const translated: ReadonlySet<string> = new Set(['type', 'name', 'description', 'parameters', 'strict', 'format']);

function noteOthers(param: OwnTool, demands: Demands): void {
  for (const [name, field] of Object.entries(param)) {
    if (field === null || translated.has(name)) continue;
    demands.droppedElsewhere.add(`tools.${name}`);
    demands.addForeign(field);
  }
}

/** Translates `tool_choice` and `parallel_tool_calls`. Raises invalid_request if the choice cannot be honoured. */
export function translateToolChoice(body: ResponseRequest, tools: Tool[], names: ToolNames, demands: Demands): Choice {
  const canCall = hasTools(body);
  const choice = body.tool_choice ?? undefined;
  const disableParallelCalls = body.parallel_tool_calls === false && canCall;
  const chosen = (mode: Mode, name = '', offered = tools): Choice => ({ offered, toolChoice: { mode, name, disableParallelCalls } });
  const open = (): Choice => (disableParallelCalls ? chosen(Mode.MODE_AUTO) : { offered: tools, toolChoice: undefined });
  if (choice === undefined) return open();
  if (typeof choice === 'string') {
    if (choice === 'required' && !canCall)
      throw fieldError('invalid_request', 'tool_choice', '"required" requires tools; send at least one, or use "auto"');
    const mode = choiceModes[choice];
    if (mode === undefined) return passChoiceOn('tool_choice', choice, open, only, demands);
    return canCall ? chosen(mode) : open();
  }
  if (choice.type === 'function' || choice.type === 'custom') {
    const [name] = chosenNames([choice], tools, names);
    return chosen(Mode.MODE_NAMED, name);
  }
  if (choice.type === 'allowed_tools') {
    const { mode, tools: allowed } = choice;
    const own = allowed.filter((tool): tool is Named => tool.type === 'function' || tool.type === 'custom');
    const kept = new Set(chosenNames(own, tools, names));
    return chosen(
      mode === 'auto' ? Mode.MODE_AUTO : Mode.MODE_REQUIRED,
      '',
      tools.filter((tool) => kept.has(tool.name)),
    );
  }
  return passChoiceOn('tool_choice.type', choice, open, only, demands);
}

function chosenNames(chosen: readonly Named[], tools: readonly Tool[], names: ToolNames): string[] {
  const offered = new Set(tools.map(({ name }) => name));
  return chosen.map(({ name, namespace }) => {
    const wire = wireToolName(names, name, namespace);
    if (!offered.has(wire)) throw fieldError('invalid_request', 'tool_choice', `there is no tool named "${name}" in tools`);
    return wire;
  });
}
