// The instructions and messages of a messages request → the common prompt, by the vendor's rules on empty text, order and tool pairing.
import { type Message, type Prompt, Role } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import type { BlockParam, MessageParam } from './block-schema.js';
import { assertText, partsOf } from './content.js';
import { noteCitations } from './media.js';
import type { Reading } from './reading.js';
import type { MessagesRequest } from './schema.js';
import { assertToolPairing } from './tool-pairing.js';

const roles = { user: Role.ROLE_USER, assistant: Role.ROLE_ASSISTANT, system: Role.ROLE_SYSTEM } as const;

/** Translates the conversation. Raises invalid_request or unsupported_field that names the invalid message and block. */
export function translateMessages(messages: readonly MessageParam[], reading: Reading): Message[] {
  assertOrder(messages);
  assertToolPairing(messages);
  const translated: Message[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const path = `messages.${index}.content`;
    // An empty last assistant turn is equivalent to none; anywhere else empty content is an error of the caller.
    if (content.length === 0 && (role !== 'assistant' || index < messages.length - 1)) {
      throw fieldError('invalid_request', path, 'content must be non-empty');
    }
    const parts = blocksOf(content).flatMap((block, at) => partsOf(block, role, `${path}.${at}`, reading));
    if (parts.length > 0) translated.push({ role: roles[role], parts });
  }
  return translated;
}

/** Translates the top-level instructions. */
export function translateSystem(system: MessagesRequest['system'], reading: Reading): Pick<Prompt, 'system' | 'systemCacheTtls'> {
  const translated: Pick<Prompt, 'system' | 'systemCacheTtls'> = { system: [], systemCacheTtls: {} };
  if (system === null || system === undefined || system === '') return translated;
  if (typeof system === 'string') return { ...translated, system: [system] };
  for (const [index, block] of system.entries()) {
    const path = `system.${index}`;
    assertText(block.text, path);
    noteCitations(block, reading);
    const ttl = reading.cacheTtl(block, path);
    reading.countOthers(block, ['type', 'text', 'cache_control']);
    // One client starts with a bookkeeping line for its vendor that differs in every call and defeats every prompt cache.
    if (block.text.startsWith('x-anthropic-billing-header:')) {
      reading.demands.droppedElsewhere.add('system.x-anthropic-billing-header');
      reading.demands.addForeign(block.text);
      continue;
    }
    if (ttl !== undefined) translated.systemCacheTtls[translated.system.length] = ttl;
    translated.system.push(block.text);
  }
  return translated;
}

/** Puts the automatic cache mark on the last part that can carry one. */
export function markLast(messages: readonly Message[], cacheTtl: string): void {
  const part = messages.at(-1)?.parts.findLast(({ part: each }) => each?.$case !== 'reasoning');
  if (part !== undefined) part.cacheTtl ??= cacheTtl;
}

function blocksOf(content: MessageParam['content']): readonly BlockParam[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}

function assertOrder(messages: readonly MessageParam[]): void {
  const [first] = messages;
  if (first?.role === 'system')
    throw fieldError('invalid_request', 'messages.0.role', "the first message may not be system; use the top-level 'system' parameter");
  if (first?.role === 'assistant') throw fieldError('invalid_request', 'messages.0.role', 'the first message must be from the user');
}
