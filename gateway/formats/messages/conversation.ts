// The messages of a messages request → the common prompt, by the vendor's rules on empty text, order and tool pairing.
import { type Message, type Part, Role } from '#proto/inference/v1/inference.js';
import { fieldError } from '../body-reader.js';
import type { DroppedFields } from '../fields.js';
import { reasoningPart, textPart, toolCallPart, toolResultPart } from '../parts.js';
import type { ContentBlockParam, MessageParam, MessagesRequest } from './schema.js';
import { assertToolPairing } from './tool-pairing.js';

type BlockOf<T extends ContentBlockParam['type']> = Extract<ContentBlockParam, { type: T }>;

const roles = { user: Role.ROLE_USER, assistant: Role.ROLE_ASSISTANT, system: Role.ROLE_SYSTEM } as const;

/** Translates the conversation; raises invalid_request naming the message and block at fault. */
export function translateMessages(messages: readonly MessageParam[], dropped: DroppedFields): Message[] {
  assertOrder(messages);
  assertToolPairing(messages);
  const translated: Message[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const path = `messages.${index}.content`;
    // An empty last assistant turn asks for the same as none; everywhere else emptiness is a mistake of the caller's.
    if (content.length === 0 && (role !== 'assistant' || index < messages.length - 1)) {
      throw fieldError('invalid_request', path, 'content must be non-empty');
    }
    const parts = blocksOf(content).flatMap((block, at) => partsOf(block, `${path}.${at}`, dropped));
    if (parts.length > 0) translated.push({ role: roles[role], parts });
  }
  return translated;
}

/** Translates the top-level instructions. */
export function translateSystem(system: MessagesRequest['system'], dropped: DroppedFields): string[] {
  if (system === null || system === undefined || system === '') return [];
  if (typeof system === 'string') return [system];
  const texts: string[] = [];
  for (const [index, block] of system.entries()) {
    assertText(block.text, `system.${index}`);
    noteCacheControl(block, dropped);
    // One client puts a line of bookkeeping for its vendor first, different in every call, which defeats every prompt cache.
    if (block.text.startsWith('x-anthropic-billing-header:')) dropped.add('system.x-anthropic-billing-header');
    else texts.push(block.text);
  }
  return texts;
}

function blocksOf(content: MessageParam['content']): readonly ContentBlockParam[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}

function partsOf(block: ContentBlockParam, path: string, dropped: DroppedFields): Part[] {
  noteCacheControl(block, dropped);
  switch (block.type) {
    case 'text':
      assertText(block.text, path);
      return [textPart(block.text)];
    case 'tool_use':
      return [toolCallPart(block.id, block.name, JSON.stringify(block.input))];
    case 'tool_result':
      return [toolResultPart(block.tool_use_id, resultText(block, path, dropped), block.is_error === true)];
    case 'thinking':
      // A signature without text is a thought whose display was omitted, and must go back; without either it is nothing.
      return block.thinking === '' && block.signature === '' ? [] : [reasoningPart(block.thinking, block.signature, '')];
    case 'redacted_thinking':
      return [reasoningPart('', '', block.data)];
  }
}

function resultText({ content }: BlockOf<'tool_result'>, path: string, dropped: DroppedFields): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const [index, block] of content.entries()) {
    noteCacheControl(block, dropped);
    if (block.type === 'tool_reference') {
      // It loads a tool whose definition was deferred; here every tool is sent from the start.
      dropped.add('tool_reference');
      continue;
    }
    assertText(block.text, `${path}.content.${index}`);
    texts.push(block.text);
  }
  return texts.join('\n');
}

function assertText(text: string, path: string): void {
  if (text === '') throw fieldError('invalid_request', `${path}.text`, 'text content blocks must be non-empty');
}

function noteCacheControl(block: { cache_control?: unknown }, dropped: DroppedFields): void {
  if (block.cache_control !== null && block.cache_control !== undefined) dropped.add('cache_control');
}

function assertOrder(messages: readonly MessageParam[]): void {
  const [first] = messages;
  if (first?.role === 'system') throw fieldError('invalid_request', 'messages.0.role', "the first message may not be system; use the top-level 'system' parameter");
  if (first?.role === 'assistant') throw fieldError('invalid_request', 'messages.0.role', 'the first message must be from the user');
}
