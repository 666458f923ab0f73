// Converts the messages of a prompt to the input items of a responses request. Pure.
import {
  type Message,
  type Prompt,
  type ReasoningPart,
  Role,
  type ToolCallPart,
  type ToolResultPart,
} from '#proto/inference/v1/inference.js';
import { itemOfSignature } from '#rules/wire/reasoning-seals.js';
import type { SentReasoning } from '../../tokens/prompt-text.js';
import { documentText, marked, textContent, type Translation } from '../chat-completions/content.js';
import { instructionParts } from '../chat-completions/conversation.js';
import { toUpstreamToolId, toUpstreamToolName } from '../chat-completions/tools/tool-names.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import { contentOf, inputPart, inputParts } from './content.js';

/** OpenAI rejects longer call ids, in characters. */
const callIdCharsMax = 64;

/** Returns the instructions before the conversation, which may have to be an item, and all items in order. */
export function conversation(
  prompt: Prompt,
  translation: Translation,
  hasInstructionItem: boolean,
): { instructions?: string; input: JsonObject[] } {
  const instructions = instructionParts(prompt, translation);
  const customCalls = customCallsIn(prompt);
  const input = prompt.messages.flatMap((message, index) => {
    const field = `messages[${index}]`;
    if (message.role === Role.ROLE_ASSISTANT) return assistantItems(message, field, translation);
    if (message.role === Role.ROLE_SYSTEM) return [instructionItem(inputParts(message.parts, field, translation), translation)];
    return userItems(message, field, translation, customCalls);
  });
  // Cache marks are only possible on the parts of a message.
  const isMarked = instructions.some(({ prompt_cache_breakpoint: mark }) => mark !== undefined);
  if (isMarked || (hasInstructionItem && instructions.length > 0))
    return { input: [instructionItem(instructions.map(inputPart), translation), ...input] };
  return instructions.length === 0 ? { input } : { instructions: instructions.map(({ text }) => text).join('\n'), input };
}

function instructionItem(parts: readonly JsonObject[], { isOpenAi }: Translation): JsonObject {
  return messageItem(isOpenAi ? 'developer' : 'system', contentOf(parts));
}

function messageItem(role: string, content: unknown): JsonObject {
  return { type: 'message', role, content };
}

/** Returns the ids of the calls of custom tools, whose results have their own type. */
function customCallsIn({ messages }: Prompt): ReadonlySet<string> {
  const calls = messages.flatMap(({ parts }) => parts.flatMap(({ part }) => (part?.$case === 'toolCall' ? [part.value] : [])));
  return new Set(calls.filter(({ isCustom }) => isCustom === true).map(({ id }) => id));
}

function userItems(message: Message, field: string, translation: Translation, customCalls: ReadonlySet<string>): JsonObject[] {
  const results = message.parts.flatMap(({ part, cacheTtl }) => {
    if (part?.$case !== 'toolResult') return [];
    const { toolCallId } = part.value;
    const type = customCalls.has(toolCallId) ? 'custom_tool_call_output' : 'function_call_output';
    return [{ type, call_id: callId(toolCallId, translation), output: outputOf(part.value, cacheTtl, field, translation) }];
  });
  const content = inputParts(message.parts, field, translation);
  // Results come right after their calls.
  return content.length === 0 && results.length > 0 ? results : [...results, messageItem('user', contentOf(content))];
}

function outputOf(
  { text, isError, content }: ToolResultPart,
  cacheTtl: string | undefined,
  field: string,
  translation: Translation,
): string | JsonObject[] {
  // The format has no flag for a failed tool.
  const output = `${isError ? 'Error: ' : ''}${text}`;
  const mark = (of: string): JsonObject => marked(textContent(of), cacheTtl, translation);
  const parts = [...(output === '' ? [] : [inputPart(mark(output))]), ...inputParts(content, field, translation)];
  const isPlain = parts.every(({ type, prompt_cache_breakpoint: breakpoint }) => type === 'input_text' && breakpoint === undefined);
  return isPlain ? parts.map((part) => part['text']).join('\n') : parts;
}

function assistantItems(message: Message, field: string, translation: Translation): JsonObject[] {
  const items: JsonObject[] = [];
  let answer = '';
  const endText = (): void => {
    if (answer !== '') items.push(messageItem('assistant', [{ type: 'output_text', text: answer }]));
    answer = '';
  };
  for (const { part, cacheTtl } of message.parts) {
    // A mark cannot be expressed here: the parts of an answer have none.
    if (cacheTtl !== undefined) translation.dropped.add('cache_control');
    if (part?.$case === 'text') answer += part.value.text;
    else if (part?.$case === 'document') {
      const text = documentText(part.value);
      if (text === undefined) translation.dropped.add(`${field}.content (document)`);
      answer += text ?? '';
    } else if (part?.$case === 'toolCall') {
      endText();
      items.push(callItem(part.value, translation));
    } else if (part?.$case === 'reasoning') {
      endText();
      items.push(...reasoningItems(part.value, translation));
    }
  }
  endText();
  return items;
}

function callItem({ id, name, argumentsJson, isCustom }: ToolCallPart, translation: Translation): JsonObject {
  const head = { call_id: callId(id, translation), name: toUpstreamToolName(name) };
  return isCustom === true
    ? { type: 'custom_tool_call', ...head, input: argumentsJson }
    : { type: 'function_call', ...head, arguments: argumentsJson || '{}' };
}

/** Returns reasoning as the vendor encrypted it, or its text for servers that read it back; OpenAI reads only its own encrypted reasoning. */
function reasoningItems(part: ReasoningPart, { isOpenAi }: Translation): JsonObject[] {
  const { text } = sentReasoning(part, isOpenAi);
  const item = itemOfSignature(part.signature);
  const type = 'reasoning';
  if (item !== undefined) {
    const summary = text === '' ? [] : [{ type: 'summary_text', text }];
    return [{ type, id: item.id === '' ? undefined : item.id, summary, encrypted_content: item.encryptedContent }];
  }
  return text === '' ? [] : [{ type, summary: [], content: [{ type: 'reasoning_text', text }] }];
}

/** Returns the reasoning that a server of this format receives. */
export function sentReasoning({ text, signature }: ReasoningPart, isOpenAi: boolean): SentReasoning {
  const item = itemOfSignature(signature);
  if (item !== undefined) return { text, encrypted: item.encryptedContent };
  return { text: isOpenAi ? '' : text, encrypted: '' };
}

/** Returns a call id in the form that the upstream accepts; the same id always gives the same result. */
function callId(id: string, { isOpenAi }: Translation): string {
  return isOpenAi ? toUpstreamToolId(id, callIdCharsMax) : id;
}
