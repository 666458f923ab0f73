// A canonical request as the body of POST /messages or POST /messages/count_tokens. Pure.
import { createHash } from 'node:crypto';
import { AppError } from '#kit/errors/app-error.js';
import { type GenerateRequest, type Message, type Part, type Prompt, type Reasoning, Role, type Tool, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../stream-decoder.js';
import { toolArguments, toolParameters } from '../tool-json.js';

/** The vendor version that is spoken where the caller named none. */
export const defaultMessagesVersion = '2023-06-01';

// From this version on the mere presence of a sampling parameter is an error.
const firstVersionWithoutSampling = '2026-10-21';

/** Smallest budget that the vendor takes for thinking, in tokens. */
export const thinkingBudgetMin = 1024;

/** The body of a streaming request. `version` is the vendor version that goes with it. */
export function messagesBody(request: GenerateRequest, model: string, version: string): JsonObject {
  const stops = request.stopSequences.filter((sequence) => sequence.trim() !== '');
  return {
    model,
    max_tokens: request.maxOutputTokens,
    ...promptFields(request.prompt!),
    ...reasoningFields(request.reasoning, request.maxOutputTokens),
    ...(version < firstVersionWithoutSampling ? samplingFields(request) : {}),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: request.endUser === '' ? undefined : { user_id: request.endUser },
    stream: true,
  };
}

/** The body of a request to count tokens. */
export function countTokensBody(prompt: Prompt, reasoning: Reasoning | undefined, model: string): JsonObject {
  return { model, ...promptFields(prompt), ...reasoningFields(reasoning, Number.MAX_SAFE_INTEGER) };
}

/** A tool call id as this format takes it; ids made by other vendors may hold other characters. The same id always gives the same. */
export function toMessagesToolId(id: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(id)) return id;
  // The hash keeps apart ids that differ only in the characters replaced.
  return `${id.replace(/[^A-Za-z0-9_-]/g, '_')}_${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
}

function promptFields(prompt: Prompt): JsonObject {
  // The format refuses a system entry in the first place of the conversation.
  const conversation = prompt.messages.findIndex((message) => message.role !== Role.ROLE_SYSTEM);
  const leading = prompt.messages.slice(0, Math.max(0, conversation));
  const system = [...prompt.system, ...leading.flatMap(textsOf)].filter((text) => text !== '');
  const messages = mergeTurns(prompt.messages.slice(leading.length));
  if (messages.length === 0) throw new AppError('invalid_request', 'The conversation is empty.', { details: { field: 'messages' } });
  return {
    system: system.length > 0 ? system.map((text) => ({ type: 'text', text })) : undefined,
    messages,
    ...toolFields(prompt),
  };
}

/** Joins consecutive messages of one role, since all results of parallel tool calls belong into one user message, before its text. */
function mergeTurns(messages: readonly Message[]): JsonObject[] {
  const turns: { role: string; content: JsonObject[] }[] = [];
  for (const message of messages) {
    const blocks = message.parts.flatMap(({ part }) => toBlocks(part));
    if (blocks.length === 0) continue;
    const role = roleNames[message.role] ?? 'user';
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: blocks });
  }
  for (const turn of turns) {
    const isResult = (block: JsonObject): boolean => block['type'] === 'tool_result';
    turn.content = [...turn.content.filter(isResult), ...turn.content.filter((block) => !isResult(block))];
  }
  return turns;
}

const roleNames: Partial<Record<Role, string>> = {
  [Role.ROLE_USER]: 'user',
  [Role.ROLE_ASSISTANT]: 'assistant',
  [Role.ROLE_SYSTEM]: 'system',
};

function toBlocks(part: Part['part']): JsonObject[] {
  switch (part?.$case) {
    case 'text':
      // Empty text is refused.
      return part.value.text === '' ? [] : [{ type: 'text', text: part.value.text }];
    case 'toolCall':
      return [{ type: 'tool_use', id: toMessagesToolId(part.value.id), name: part.value.name, input: toolArguments(part.value.argumentsJson) }];
    case 'toolResult': {
      const { toolCallId, text, isError } = part.value;
      return [
        { type: 'tool_result', tool_use_id: toMessagesToolId(toolCallId), content: text === '' ? undefined : text, is_error: isError ? true : undefined },
      ];
    }
    case 'reasoning': {
      const { text, signature, redactedData } = part.value;
      if (redactedData !== '') return [{ type: 'redacted_thinking', data: redactedData }];
      // Unsigned reasoning is another vendor's and would be refused.
      return signature === '' ? [] : [{ type: 'thinking', thinking: text, signature }];
    }
    default:
      return [];
  }
}

function textsOf(message: Message): string[] {
  return message.parts.flatMap(({ part }) => (part?.$case === 'text' ? [part.value.text] : []));
}

function toolFields({ tools, toolChoice }: Prompt): JsonObject {
  if (tools.length === 0) return {};
  return { tools: tools.map(toTool), tool_choice: toolChoice === undefined ? undefined : toToolChoice(toolChoice) };
}

function toTool(tool: Tool): JsonObject {
  return {
    name: tool.name,
    description: tool.description === '' ? undefined : tool.description,
    input_schema: { type: 'object', ...(toolParameters(tool) ?? { properties: {} }) },
    strict: tool.strict,
  };
}

function toToolChoice(choice: NonNullable<Prompt['toolChoice']>): JsonObject | undefined {
  const parallel = choice.disableParallelCalls ? { disable_parallel_tool_use: true } : {};
  switch (choice.mode) {
    case ToolChoice_Mode.MODE_NONE:
      return { type: 'none' };
    case ToolChoice_Mode.MODE_REQUIRED:
      return { type: 'any', ...parallel };
    case ToolChoice_Mode.MODE_NAMED:
      return { type: 'tool', name: choice.name, ...parallel };
    case ToolChoice_Mode.MODE_AUTO:
      return { type: 'auto', ...parallel };
    default:
      return choice.disableParallelCalls ? { type: 'auto', ...parallel } : undefined;
  }
}

const efforts: Readonly<Record<string, string>> = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' };

/** Thinking off, or a budget, or an effort; never two that contradict each other. */
function reasoningFields(reasoning: Reasoning | undefined, maxTokens: number): JsonObject {
  if (reasoning === undefined) return {};
  if (reasoning.disabled || reasoning.effort === 'none') return { thinking: { type: 'disabled' } };
  const effort = efforts[reasoning.effort];
  // The budget must leave room for an answer.
  const budget = Math.min(reasoning.budgetTokens ?? 0, maxTokens - 1);
  return {
    thinking: budget >= thinkingBudgetMin ? { type: 'enabled', budget_tokens: budget } : undefined,
    output_config: effort === undefined ? undefined : { effort },
  };
}

function samplingFields({ sampling }: GenerateRequest): JsonObject {
  if (sampling === undefined) return {};
  return {
    // The other format's range goes up to 2.
    temperature: sampling.temperature === undefined ? undefined : Math.min(1, sampling.temperature),
    top_p: sampling.topP,
    top_k: sampling.topK,
  };
}
