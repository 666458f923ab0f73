// A canonical request as the body of POST /chat/completions. Pure.
import { AppError } from '#kit/errors/app-error.js';
import { type GenerateRequest, type Message, type Prompt, type Reasoning, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../stream-decoder.js';
import { toolParameters } from '../tool-json.js';
import { toUpstreamToolName } from './tool-names.js';

/** Most stop sequences that the format takes. */
export const stopSequencesMax = 4;

/** How an upstream departs from the common form. */
export interface ChatCompletionsFlavour {
  /** OpenAI's own servers: they refuse `max_tokens` for reasoning models, and any field they do not know. */
  readonly isOpenAi: boolean;
}

/** The flavour of the server behind a base_url. */
export function flavourOf(baseUrl: string): ChatCompletionsFlavour {
  return { isOpenAi: /(^|\.)openai\.(com|azure\.com)$/.test(new URL(baseUrl).hostname) };
}

/** The body of a streaming request with usage. Raises unsupported_field for what the format cannot say. */
export function chatCompletionsBody(request: GenerateRequest, model: string, flavour: ChatCompletionsFlavour): JsonObject {
  const { prompt, sampling, maxOutputTokens, stopSequences, endUser } = request;
  if (maxOutputTokens === 0) throw unsupported('max_tokens', 'This model generates at least one token: max_tokens must be above 0.');
  if (stopSequences.length > stopSequencesMax) throw unsupported('stop_sequences', `This model takes at most ${stopSequencesMax} stop sequences.`);
  return {
    model,
    messages: [...prompt!.system.map((text) => ({ role: 'system', content: text })), ...prompt!.messages.flatMap((message) => toMessages(message, flavour))],
    [flavour.isOpenAi ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    ...toolFields(prompt!),
    temperature: sampling?.temperature,
    top_p: sampling?.topP,
    frequency_penalty: sampling?.frequencyPenalty,
    presence_penalty: sampling?.presencePenalty,
    // JSON numbers are exact up to 2^53; a larger seed is folded into that range, always in the same way.
    seed: sampling?.seed === undefined ? undefined : Number(BigInt.asIntN(53, sampling.seed)),
    stop: stopSequences.length > 0 ? stopSequences : undefined,
    reasoning_effort: reasoningEffort(request.reasoning),
    [flavour.isOpenAi ? 'safety_identifier' : 'user']: endUser === '' ? undefined : endUser,
    stream: true,
    stream_options: flavour.isOpenAi ? { include_usage: true, include_obfuscation: false } : { include_usage: true },
  };
}

function toMessages(message: Message, flavour: ChatCompletionsFlavour): JsonObject[] {
  switch (message.role) {
    case Role.ROLE_ASSISTANT:
      return [assistantMessage(message, flavour)];
    case Role.ROLE_SYSTEM:
      return [{ role: 'system', content: contentOf(texts(message)) }];
    default:
      return userMessages(message);
  }
}

/** A user turn: the tool results it brings, each a message of its own, then what the user says. */
function userMessages(message: Message): JsonObject[] {
  const results = message.parts.flatMap(({ part }) => {
    if (part?.$case !== 'toolResult') return [];
    const { toolCallId, text, isError } = part.value;
    // The format has no flag for a failed tool.
    return [{ role: 'tool', tool_call_id: toolCallId, content: isError ? `Error: ${text}` : text }];
  });
  const said = texts(message);
  return said.length === 0 && results.length > 0 ? results : [...results, { role: 'user', content: contentOf(said) }];
}

function assistantMessage(message: Message, flavour: ChatCompletionsFlavour): JsonObject {
  const toolCalls = message.parts.flatMap(({ part }) =>
    part?.$case === 'toolCall'
      ? [{ id: part.value.id, type: 'function', function: { name: toUpstreamToolName(part.value.name), arguments: part.value.argumentsJson || '{}' } }]
      : [],
  );
  const reasoning = message.parts.map(({ part }) => (part?.$case === 'reasoning' ? part.value.text : '')).join('');
  const content = texts(message).join('');
  return {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    // DeepSeek-like servers want their reasoning back with tool results; OpenAI's do not know the field.
    reasoning_content: flavour.isOpenAi || reasoning === '' ? undefined : reasoning,
    tool_calls: toolCalls.length > 0 ? toolCalls : undefined,
  };
}

function texts(message: Message): string[] {
  return message.parts.flatMap(({ part }) => (part?.$case === 'text' ? [part.value.text] : []));
}

/** Plain text where one part is all there is, for some servers take nothing else. */
function contentOf(parts: readonly string[]): string | JsonObject[] {
  return parts.length > 1 ? parts.map((text) => ({ type: 'text', text })) : (parts[0] ?? '');
}

function toolFields({ tools, toolChoice }: Prompt): JsonObject {
  // A choice without tools is refused by OpenAI.
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => ({
      type: 'function',
      function: {
        name: toUpstreamToolName(tool.name),
        description: tool.description === '' ? undefined : tool.description,
        parameters: toolParameters(tool),
        strict: tool.strict,
      },
    })),
    tool_choice: toolChoiceOf(toolChoice),
    parallel_tool_calls: toolChoice?.disableParallelCalls === true ? false : undefined,
  };
}

function toolChoiceOf(choice: Prompt['toolChoice']): unknown {
  switch (choice?.mode) {
    case ToolChoice_Mode.MODE_AUTO:
      return 'auto';
    case ToolChoice_Mode.MODE_NONE:
      return 'none';
    case ToolChoice_Mode.MODE_REQUIRED:
      return 'required';
    case ToolChoice_Mode.MODE_NAMED:
      return { type: 'function', function: { name: toUpstreamToolName(choice.name) } };
    default:
      return undefined;
  }
}

/** Nothing for "disabled": models that do not reason refuse the field itself. */
function reasoningEffort(reasoning: Reasoning | undefined): string | undefined {
  if (reasoning === undefined || reasoning.disabled) return undefined;
  if (reasoning.effort !== '') return reasoning.effort;
  if (reasoning.budgetTokens === undefined) return undefined;
  if (reasoning.budgetTokens < 4096) return 'low';
  return reasoning.budgetTokens < 16_384 ? 'medium' : 'high';
}

function unsupported(field: string, message: string): AppError {
  return new AppError('unsupported_field', message, { details: { field } });
}
