// A chat-completions request → the common inference call.
import { type Reasoning, type Tool, type ToolChoice, ToolChoice_Mode as Mode } from '#proto/inference/v1/inference.js';
import { bodyReader, fieldError } from '../body-reader.js';
import { endUserOf } from '../end-user.js';
import { DroppedFields } from '../fields.js';
import { type ParsedCall, unfilledRequest } from '../format.js';
import { inputTokensMax } from '../input-bound.js';
import { translateConversation } from './conversation.js';
import { ChatCompletionRequest } from './schema.js';

const readBody = bodyReader(ChatCompletionRequest, 'brackets');

/** Validates and translates a body. Raises invalid_request or unsupported_field with details.field. */
export function parseChatCompletions(value: unknown): ParsedCall {
  const body = readBody(value);
  const dropped = new DroppedFields();
  dropped.addUnhonoured(body, ChatCompletionRequest);
  const { system, messages } = translateConversation(body.messages, dropped);
  const tools = (body.tools ?? []).map(translateTool);
  assertUniqueNames(tools);
  const { offered, toolChoice } = translateToolChoice(body, tools);
  const prompt = { system, messages, tools: offered, toolChoice, systemCacheTtls: {} };
  const parsed: ParsedCall = {
    model: body.model,
    streaming: body.stream === true,
    request: {
      ...unfilledRequest,
      prompt,
      sampling: {
        temperature: body.temperature ?? undefined,
        topP: body.top_p ?? undefined,
        topK: body.top_k ?? undefined,
        seed: body.seed === null || body.seed === undefined ? undefined : BigInt(body.seed),
        frequencyPenalty: body.frequency_penalty ?? undefined,
        presencePenalty: body.presence_penalty ?? undefined,
      },
      stopSequences: translateStop(body.stop),
      reasoning: translateReasoning(body.reasoning_effort),
      endUser: endUserOf(body.user ?? body.safety_identifier),
      streaming: body.stream === true,
      native: undefined,
      responseFormat: undefined,
      choices: 1,
    },
    includeUsage: body.stream_options?.include_usage === true,
    inputTokensMax: inputTokensMax(prompt),
    images: 0,
    documents: 0,
    needs: [],
    droppedFields: dropped.names,
  };
  // The newer name wins: clients that send both fill the older one for servers that know no other.
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens;
  if (maxOutputTokens !== null && maxOutputTokens !== undefined) parsed.maxOutputTokens = maxOutputTokens;
  return parsed;
}

function translateReasoning(effort: ChatCompletionRequest['reasoning_effort']): Reasoning | undefined {
  return effort === null || effort === undefined ? undefined : { effort, budgetTokens: undefined, disabled: effort === 'none' };
}

function translateStop(stop: ChatCompletionRequest['stop']): string[] {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? []);
  // An empty sequence would end every answer before it begins; no vendor takes it.
  return sequences.filter((sequence) => sequence !== '');
}

function translateTool({ function: tool }: NonNullable<ChatCompletionRequest['tools']>[number]): Tool {
  return {
    name: tool.name,
    description: tool.description ?? '',
    parametersJson: tool.parameters === null || tool.parameters === undefined ? '' : JSON.stringify(tool.parameters),
    strict: tool.strict ?? undefined,
  };
}

function assertUniqueNames(tools: Tool[]): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    if (names.has(name)) throw fieldError('invalid_request', `tools[${index}].function.name`, `"${name}" is the name of an earlier tool; names must differ`);
    names.add(name);
  }
}

interface Choice {
  /** The tools that the model is told of. */
  offered: Tool[];
  toolChoice: ToolChoice | undefined;
}

function translateToolChoice(body: ChatCompletionRequest, tools: Tool[]): Choice {
  const choice = body.tool_choice ?? undefined;
  const disableParallelCalls = body.parallel_tool_calls === false && tools.length > 0;
  const chosen = (mode: Mode, name = '', offered = tools): Choice => ({ offered, toolChoice: { mode, name, disableParallelCalls } });
  if (choice === undefined) return disableParallelCalls ? chosen(Mode.MODE_AUTO) : { offered: tools, toolChoice: undefined };
  if (typeof choice !== 'string') {
    const named = choice.type === 'function' ? [choice] : choice.allowed_tools.tools;
    const names = named.map((each) => each.function.name);
    assertOffered(names, tools);
    if (choice.type === 'function') return chosen(Mode.MODE_NAMED, choice.function.name);
    const mode = choice.allowed_tools.mode === 'auto' ? Mode.MODE_AUTO : Mode.MODE_REQUIRED;
    return chosen(mode, '', tools.filter((tool) => names.includes(tool.name)));
  }
  if (choice === 'required') {
    if (tools.length === 0) throw fieldError('invalid_request', 'tool_choice', '"required" needs tools; send some or use "auto"');
    return chosen(Mode.MODE_REQUIRED);
  }
  if (tools.length === 0) return { offered: tools, toolChoice: undefined };
  return chosen(choice === 'none' ? Mode.MODE_NONE : Mode.MODE_AUTO);
}

function assertOffered(names: string[], tools: Tool[]): void {
  for (const name of names) {
    if (!tools.some((tool) => tool.name === name)) throw fieldError('invalid_request', 'tool_choice', `there is no tool named "${name}" in tools`);
  }
}
