// A messages request → the common inference call.
import { type Prompt, type Reasoning, type Tool, type ToolChoice, ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { bodyReader, fieldError } from '../body-reader.js';
import { endUserOf } from '../end-user.js';
import { DroppedFields } from '../fields.js';
import { type ParsedCall, unfilledRequest } from '../format.js';
import { inputTokensMax } from '../input-bound.js';
import { translateMessages, translateSystem } from './conversation.js';
import { CountTokensRequest, MessagesRequest } from './schema.js';

const readBody = bodyReader(MessagesRequest, 'dots');
const readCountTokensBody = bodyReader(CountTokensRequest, 'dots');

/** From this version on the format has no sampling parameters. */
const versionWithoutSampling = '2026-10-21';

/** A validated count_tokens body, translated. */
export interface ParsedCount {
  /** What the caller named. */
  model: string;
  request: { prompt: Prompt; reasoning: Reasoning | undefined; messagesVersion: string };
  /** Fields that were accepted but have no effect here. */
  droppedFields: string[];
}

/** Validates and translates a body. Raises invalid_request or unsupported_field with details.field. */
export function parseMessages(value: unknown, headers: { version?: string }): ParsedCall {
  const body = readBody(value);
  const dropped = new DroppedFields();
  dropped.addUnhonoured(body, MessagesRequest);
  assertSamplingAllowed(body, headers.version);
  const prompt = translatePrompt(body, dropped);
  const reasoning = translateReasoning(body, dropped);
  if (reasoning?.budgetTokens !== undefined && reasoning.budgetTokens >= body.max_tokens) {
    throw fieldError('invalid_request', 'thinking.budget_tokens', 'must be less than max_tokens');
  }
  return {
    model: body.model,
    streaming: body.stream === true,
    maxOutputTokens: body.max_tokens,
    request: {
      ...unfilledRequest,
      prompt,
      sampling: { temperature: body.temperature ?? undefined, topP: body.top_p ?? undefined, topK: body.top_k ?? undefined },
      stopSequences: [...(body.stop_sequences ?? [])],
      reasoning,
      endUser: endUserOf(body.metadata?.user_id),
      streaming: body.stream === true,
      native: undefined,
      responseFormat: undefined,
      choices: 1,
      messagesVersion: headers.version ?? '',
    },
    // The final usage is a part of every streamed answer in this format.
    includeUsage: true,
    inputTokensMax: inputTokensMax(prompt),
    images: 0,
    documents: 0,
    needs: [],
    droppedFields: dropped.names,
  };
}

/** Validates and translates a count_tokens body, which has no max_tokens. Raises as `parseMessages`. */
export function parseCountTokens(value: unknown, headers: { version?: string }): ParsedCount {
  const body = readCountTokensBody(value);
  const dropped = new DroppedFields();
  dropped.addUnhonoured(body, CountTokensRequest);
  const prompt = translatePrompt(body, dropped);
  const reasoning = translateReasoning(body, dropped);
  return { model: body.model, request: { prompt, reasoning, messagesVersion: headers.version ?? '' }, droppedFields: dropped.names };
}

function assertSamplingAllowed(body: MessagesRequest, version = ''): void {
  if (version < versionWithoutSampling) return;
  for (const field of ['temperature', 'top_p', 'top_k'] as const) {
    if (body[field] === null || body[field] === undefined) continue;
    throw fieldError('invalid_request', field, `Extra inputs are not permitted since version ${versionWithoutSampling}; leave it out or send an earlier version`);
  }
}

function translatePrompt(body: CountTokensRequest, dropped: DroppedFields): Prompt {
  const tools = (body.tools ?? []).map((tool) => translateTool(tool, dropped));
  assertUniqueNames(tools);
  return {
    system: translateSystem(body.system, dropped),
    messages: translateMessages(body.messages, dropped),
    tools,
    toolChoice: translateToolChoice(body.tool_choice, tools),
    systemCacheTtls: {},
  };
}

const ignoredToolFields = ['allowed_callers', 'cache_control', 'defer_loading', 'eager_input_streaming', 'input_examples'] as const;

function translateTool(tool: NonNullable<CountTokensRequest['tools']>[number], dropped: DroppedFields): Tool {
  for (const field of ignoredToolFields) {
    if (tool[field] !== null && tool[field] !== undefined) dropped.add(field === 'cache_control' ? field : `tools.${field}`);
  }
  return {
    name: tool.name,
    description: tool.description ?? '',
    parametersJson: JSON.stringify(tool.input_schema),
    strict: tool.strict ?? undefined,
  };
}

function assertUniqueNames(tools: Tool[]): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    if (names.has(name)) throw fieldError('invalid_request', `tools.${index}.name`, 'Tool names must be unique');
    names.add(name);
  }
}

const modes = { auto: Mode.MODE_AUTO, any: Mode.MODE_REQUIRED, tool: Mode.MODE_NAMED, none: Mode.MODE_NONE } as const;

function translateToolChoice(choice: CountTokensRequest['tool_choice'], tools: Tool[]): ToolChoice | undefined {
  if (choice === null || choice === undefined) return undefined;
  const name = choice.type === 'tool' ? choice.name : '';
  if (choice.type === 'tool' && !tools.some((tool) => tool.name === name)) {
    throw fieldError('invalid_request', 'tool_choice.name', `there is no tool named "${name}" in tools`);
  }
  if (choice.type === 'any' && tools.length === 0) throw fieldError('invalid_request', 'tool_choice', '"any" needs tools; send some or use "auto"');
  if (tools.length === 0) return undefined;
  const disableParallelCalls = choice.type !== 'none' && choice.disable_parallel_tool_use === true;
  return { mode: modes[choice.type], name, disableParallelCalls };
}

function translateReasoning({ thinking, output_config: output }: CountTokensRequest, dropped: DroppedFields): Reasoning | undefined {
  if (output?.task_budget !== null && output?.task_budget !== undefined) dropped.add('output_config.task_budget');
  const effort = output?.effort ?? '';
  if (thinking === null || thinking === undefined) return effort === '' ? undefined : { effort, budgetTokens: undefined, disabled: false };
  if (thinking.type === 'disabled') {
    // Vendors refuse a request that switches reasoning off and asks for an effort; switching off is the plainer wish.
    if (effort !== '') dropped.add('output_config.effort');
    return { effort: '', budgetTokens: undefined, disabled: true };
  }
  if (thinking.display !== null && thinking.display !== undefined) dropped.add('thinking.display');
  return { effort, budgetTokens: thinking.type === 'enabled' ? thinking.budget_tokens : undefined, disabled: false };
}
