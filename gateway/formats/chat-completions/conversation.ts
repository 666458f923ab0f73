// The messages of a chat-completions request → the common prompt, with tool calls and their results paired.
import { type Message, type Part, type Prompt, Role } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import type { Demands } from '../requests/required-capabilities.js';
import { cachedUpTo, toolCallPart, toolResultPart } from '../parts.js';
import { assertNoFileIds, cacheTtl } from '../requests/media.js';
import { contentParts } from './content.js';
import type { ChatMessage, MessageOf } from './message-schema.js';
import { reasoningFields, replayedReasoning } from './reasoning.js';

/** Holds the instructions before the conversation, and the conversation. */
export type Conversation = Pick<Prompt, 'system' | 'systemCacheTtls' | 'messages'>;

/** Translates the messages. Raises invalid_request if tool calls and results do not pair up or there is nothing left to answer. */
export function translateConversation(messages: readonly ChatMessage[], demands: Demands): Conversation {
  const conversation: Conversation = { system: [], systemCacheTtls: {}, messages: [] };
  const pending = new PendingCalls();
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    noteOthers(message, translated, 'messages', demands);
    if (message.role === 'tool') {
      pending.answer(message, path);
      addToolResult(conversation.messages, message, path, demands);
      continue;
    }
    pending.assertNone();
    addMessage(conversation, message, path, demands);
    if (message.role === 'assistant') pending.begin(message, path);
  }
  pending.assertNone();
  if (demands.refusedElsewhere.length === 0 && conversation.messages.every((message) => message.role === Role.ROLE_SYSTEM)) {
    throw fieldError('invalid_request', 'messages', 'there is nothing to answer; send at least one user message that is not empty');
  }
  return conversation;
}

function addMessage(conversation: Conversation, message: Exclude<ChatMessage, { role: 'tool' }>, path: string, demands: Demands): void {
  const { messages } = conversation;
  const all =
    message.role === 'assistant' ? assistantParts(message, path, demands) : contentParts(message.content, `${path}.content`, demands);
  const parts = message.role === 'user' ? all : withoutMedia(all, message.content, path, demands);
  markLast(parts, message);
  if (message.role === 'assistant') addParts(messages, Role.ROLE_ASSISTANT, parts);
  else if (message.role === 'user') addParts(messages, Role.ROLE_USER, parts);
  else if (messages.length === 0) addSystem(conversation, parts);
  // Moving later instructions to the top would change their meaning and break a vendor's prompt cache.
  else addParts(messages, Role.ROLE_SYSTEM, parts);
}

const mediaTypes: ReadonlySet<unknown> = new Set(['image_url', 'file']);

/** Removes images and files: only user messages may have them in other formats and in the common prompt. */
function withoutMedia(
  parts: Part[],
  content: MessageOf<'assistant' | 'system' | 'developer'>['content'],
  path: string,
  demands: Demands,
): Part[] {
  if (typeof content !== 'string') {
    for (const [index, { type }] of (content ?? []).entries()) {
      if (mediaTypes.has(type))
        demands.refuseElsewhere(`${path}.content[${index}].type`, 'the model accepts only text here; send it in a message of role "user"');
    }
  }
  return parts.filter(({ part }) => part?.$case !== 'image' && part?.$case !== 'document');
}

function addSystem({ system, systemCacheTtls }: Conversation, parts: readonly Part[]): void {
  for (const { part, cacheTtl: ttl } of parts) {
    if (part?.$case !== 'text') continue;
    if (ttl !== undefined) systemCacheTtls[system.length] = ttl;
    system.push(part.value.text);
  }
}

/** Adds a message unless it has no parts: vendors reject empty text, and clients replay the empty answers that they received. */
function addParts(messages: Message[], role: Role, parts: Part[]): void {
  if (parts.length > 0) messages.push({ role, parts });
}

/** Applies a cache mark on a message to its last part. */
function markLast(parts: Part[], message: ChatMessage): void {
  const last = parts.at(-1);
  if (last !== undefined) parts[parts.length - 1] = cachedUpTo(last, cacheTtl(message));
}

function assistantParts(message: MessageOf<'assistant'>, path: string, demands: Demands): Part[] {
  const parts = [
    ...replayedReasoning(message, demands),
    ...contentParts(message.content ?? '', `${path}.content`, demands),
    ...contentParts(message.refusal ?? '', path, demands),
  ];
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    if (call.type === 'function' || call.type === undefined) {
      noteOthers(call, ofCall.function, 'messages.tool_calls', demands);
      noteOthers(call.function, ofCall.arguments, 'messages.tool_calls.function', demands);
      parts.push(toolCallPart(call.id, call.function.name, call.function.arguments));
      continue;
    }
    if (call.type === 'custom') {
      noteOthers(call, ofCall.custom, 'messages.tool_calls', demands);
      noteOthers(call.custom, ofCall.input, 'messages.tool_calls.custom', demands);
      parts.push(toolCallPart(call.id, call.custom.name, call.custom.input, true));
      continue;
    }
    const at = `${path}.tool_calls[${index}]`;
    assertNoFileIds(call, at);
    demands.addForeignContent(call);
    demands.refuseElsewhere(`${at}.type`, 'the model supports only calls of type "function" and "custom"; send it as one');
  }
  return parts;
}

/** Puts the results of one turn's calls in one message; some vendors reject separate ones. */
function addToolResult(messages: Message[], message: MessageOf<'tool'>, path: string, demands: Demands): void {
  const part = toolResult(message, path, demands);
  const last = messages.at(-1);
  if (last?.role === Role.ROLE_USER && last.parts.at(-1)?.part?.$case === 'toolResult') last.parts.push(part);
  else messages.push({ role: Role.ROLE_USER, parts: [part] });
}

function toolResult(message: MessageOf<'tool'>, path: string, demands: Demands): Part {
  const content = contentParts(message.content, `${path}.content`, demands);
  markLast(content, message);
  const texts = content.flatMap(({ part }) => (part?.$case === 'text' ? [part.value.text] : []));
  if (texts.length < content.length) return toolResultPart(message.tool_call_id, '', false, content);
  const ttl = content.findLast((part) => part.cacheTtl !== undefined)?.cacheTtl;
  const part = toolResultPart(message.tool_call_id, texts.join('\n'), false);
  return ttl === undefined ? part : { ...part, cacheTtl: ttl };
}

// `parsed` is added by the official library and repeats the content.
const translated: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'parsed',
  'tool_calls',
  'tool_call_id',
  'cache_control',
  ...reasoningFields,
]);

/** The same of calls. `index` and `parsed_arguments` are added by libraries and are not sent. */
const ofCall = {
  function: new Set(['id', 'type', 'index', 'function']),
  arguments: new Set(['name', 'arguments', 'parsed_arguments']),
  custom: new Set(['id', 'type', 'index', 'custom']),
  input: new Set(['name', 'input']),
};

/** Notes the other fields of a message or a call, which reach only upstreams of this format, where a model may read them. */
function noteOthers(fields: object, known: ReadonlySet<string>, path: string, demands: Demands): void {
  for (const [name, value] of Object.entries(fields)) {
    // Libraries send answers back as they received them, with empty lists.
    if (known.has(name) || value === null || value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    demands.droppedElsewhere.add(`${path}.${name}`);
    demands.addForeign(value);
  }
}

/** Holds the tool calls of the latest assistant message that still lack a result. */
class PendingCalls {
  private readonly ids = new Set<string>();
  private field = '';

  begin(message: MessageOf<'assistant'>, path: string): void {
    this.field = `${path}.tool_calls`;
    for (const { id } of message.tool_calls ?? []) {
      if (this.ids.has(id)) throw fieldError('invalid_request', this.field, `"${id}" is the id of two calls; ids must be unique`);
      this.ids.add(id);
    }
  }

  answer(message: MessageOf<'tool'>, path: string): void {
    if (this.ids.delete(message.tool_call_id)) return;
    const text = `"${message.tool_call_id}" is not the id of an unanswered call in the assistant message before it`;
    throw fieldError('invalid_request', `${path}.tool_call_id`, text);
  }

  assertNone(): void {
    const [id] = this.ids;
    if (id === undefined) return;
    throw fieldError(
      'invalid_request',
      this.field,
      `the call "${id}" has no result; send a message with role "tool" and this tool_call_id right after`,
    );
  }
}
