// The messages of a chat-completions request → the common prompt, with tool calls and their results paired.
import { type Message, type Part, Role } from '#proto/inference/v1/inference.js';
import { fieldError } from '../body-reader.js';
import type { DroppedFields } from '../fields.js';
import { reasoningPart, textPart, toolCallPart, toolResultPart } from '../parts.js';
import type { ChatMessage } from './schema.js';

type MessageOf<R extends ChatMessage['role']> = Extract<ChatMessage, { role: R }>;

/** Instructions before the conversation, and the conversation. */
export interface Conversation {
  system: string[];
  messages: Message[];
}

/** Translates; raises invalid_request when tool calls and results do not pair up or nothing is left to answer. */
export function translateConversation(messages: readonly ChatMessage[], dropped: DroppedFields): Conversation {
  const conversation: Conversation = { system: [], messages: [] };
  const pending = new PendingCalls();
  for (const [index, message] of messages.entries()) {
    if (message.name !== null && message.name !== undefined) dropped.add('messages.name');
    if (message.role === 'tool') {
      pending.answer(message, index);
      addToolResult(conversation.messages, message, dropped);
      continue;
    }
    pending.assertNone();
    addMessage(conversation, message, dropped);
    if (message.role === 'assistant') pending.begin(message, index);
  }
  pending.assertNone();
  if (conversation.messages.every((message) => message.role === Role.ROLE_SYSTEM)) {
    throw fieldError('invalid_request', 'messages', 'there is nothing to answer; send at least one user message that is not empty');
  }
  return conversation;
}

function addMessage({ system, messages }: Conversation, message: Exclude<ChatMessage, { role: 'tool' }>, dropped: DroppedFields): void {
  if (message.role === 'assistant') return addParts(messages, Role.ROLE_ASSISTANT, assistantParts(message, dropped));
  const texts = textsOf(message.content, dropped);
  if (message.role === 'user') addParts(messages, Role.ROLE_USER, texts.map(textPart));
  else if (messages.length === 0) system.push(...texts);
  // Moving later instructions to the top would change their meaning, and break a vendor's prompt cache.
  else addParts(messages, Role.ROLE_SYSTEM, texts.map(textPart));
}

/** Skips a message without parts: vendors refuse empty text, and clients replay the empty answers that they got. */
function addParts(messages: Message[], role: Role, parts: Part[]): void {
  if (parts.length > 0) messages.push({ role, parts });
}

function assistantParts(message: MessageOf<'assistant'>, dropped: DroppedFields): Part[] {
  const parts: Part[] = [];
  for (const block of message.thinking_blocks ?? []) parts.push(reasoningPart(block.thinking ?? '', block.signature ?? '', block.data ?? ''));
  if (parts.length === 0 && typeof message.reasoning_content === 'string' && message.reasoning_content !== '') {
    parts.push(reasoningPart(message.reasoning_content, '', ''));
  }
  for (const part of typeof message.content === 'string' ? [message.content] : (message.content ?? [])) {
    if (typeof part === 'string') parts.push(...textsOf(part, dropped).map(textPart));
    else if (part.type === 'text') parts.push(...textsOf([part], dropped).map(textPart));
    else if (part.refusal !== '') parts.push(textPart(part.refusal));
  }
  if (typeof message.refusal === 'string' && message.refusal !== '') parts.push(textPart(message.refusal));
  for (const call of message.tool_calls ?? []) parts.push(toolCallPart(call.id, call.function.name, call.function.arguments));
  return parts;
}

/** The results of one turn's calls stand in one message; some vendors refuse them apart. */
function addToolResult(messages: Message[], message: MessageOf<'tool'>, dropped: DroppedFields): void {
  const part = toolResultPart(message.tool_call_id, textsOf(message.content, dropped).join('\n'), false);
  const last = messages.at(-1);
  if (last?.role === Role.ROLE_USER && last.parts.at(-1)?.part?.$case === 'toolResult') last.parts.push(part);
  else messages.push({ role: Role.ROLE_USER, parts: [part] });
}

function textsOf(content: MessageOf<'user'>['content'], dropped: DroppedFields): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content];
  for (const part of content) {
    if (part.cache_control !== null && part.cache_control !== undefined) dropped.add('cache_control');
    if (part.prompt_cache_breakpoint !== null && part.prompt_cache_breakpoint !== undefined) dropped.add('prompt_cache_breakpoint');
  }
  return content.map((part) => part.text).filter((text) => text !== '');
}

/** The tool calls of the latest assistant message that still lack a result. */
class PendingCalls {
  private readonly ids = new Set<string>();
  private field = '';

  begin(message: MessageOf<'assistant'>, index: number): void {
    this.field = `messages[${index}].tool_calls`;
    for (const { id } of message.tool_calls ?? []) {
      if (this.ids.has(id)) throw fieldError('invalid_request', this.field, `"${id}" is the id of two calls; ids must differ`);
      this.ids.add(id);
    }
  }

  answer(message: MessageOf<'tool'>, index: number): void {
    if (this.ids.delete(message.tool_call_id)) return;
    const text = `"${message.tool_call_id}" is not the id of an unanswered call in the assistant message before it`;
    throw fieldError('invalid_request', `messages[${index}].tool_call_id`, text);
  }

  assertNone(): void {
    const [id] = this.ids;
    if (id === undefined) return;
    throw fieldError('invalid_request', this.field, `the call "${id}" has no result; send a message with role "tool" and this tool_call_id right after`);
  }
}
