// The input of a responses request → the common prompt, with tool outputs right after their calls.
import { type Message, type Part, type Prompt, Role } from '#proto/inference/v1/inference.js';
import { reasoningOf, signatureOfItem } from '#rules/wire/reasoning-seals.js';
import { fieldError } from '../requests/body-reader.js';
import { assertNoFileIds } from '../requests/media.js';
import { reasoningPart, textPart, toolResultPart } from '../parts.js';
import type { Demands } from '../requests/required-capabilities.js';
import { contentParts } from './content.js';
import type { CallItem, InputItem, MessageItem, OutputItem, ReasoningItem } from './item-schema.js';
import type { ResponseRequest } from './schema.js';
import { type ToolNames, wireToolName } from './tool-names.js';
import { noteVendorTools } from './tools.js';

/** Holds the instructions before the conversation, and the conversation. */
export type Conversation = Pick<Prompt, 'system' | 'systemCacheTtls' | 'messages'>;

/** Translates instructions and input, with the paths of its items as the caller would write them. Raises invalid_request if calls and outputs do not pair up or there is nothing left to answer. */
export function translateConversation(
  { instructions, input }: ResponseRequest,
  names: ToolNames,
  demands: Demands,
  paths?: readonly string[],
): Conversation {
  const conversation: Conversation = { system: [], systemCacheTtls: {}, messages: [] };
  if (instructions !== null && instructions !== undefined && instructions !== '') conversation.system.push(instructions);
  if (typeof input === 'string') conversation.messages.push({ role: Role.ROLE_USER, parts: [textPart(input)] });
  else new ItemReader(conversation, names, demands, paths ?? input.map((_, index) => `input[${index}]`)).read(input);
  if (demands.refusedElsewhere.length === 0 && conversation.messages.every((message) => message.role === Role.ROLE_SYSTEM))
    throw fieldError('invalid_request', 'input', 'there is nothing to answer; send at least one user message that is not empty');
  return conversation;
}

const noCompaction =
  'compaction is not supported, because its tokens are not in the usage; send the conversation itself, or a summary of it';
const refusedItems: Readonly<Record<string, string>> = {
  item_reference:
    'answers are not stored; send the item itself. Clients do so when "store" is false, which for the AI SDK is an option of its provider',
  compaction: noCompaction,
  compaction_trigger: noCompaction,
  mcp_list_tools: 'tools that a vendor runs are not supported; leave the item out',
  mcp_approval_request: 'tools that a vendor runs are not supported; leave the item out',
  mcp_approval_response: 'tools that a vendor runs are not supported; leave the item out',
};

const runByVendor = /^(web_search|file_search|code_interpreter|image_generation|mcp)_call$/;

/** The fields of known items that have a common form, and those that say nothing to a model. */
const translated: ReadonlySet<string> = new Set(
  'type id status role content phase call_id name namespace arguments parsed_arguments input output summary encrypted_content'.split(' '),
);
const knownItems: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  'message',
  'function_call',
  'custom_tool_call',
  'function_call_output',
  'custom_tool_call_output',
  'reasoning',
]);

class ItemReader {
  /** The outputs of calls that have no result in the conversation yet, by call id. */
  readonly #outputs = new Map<string, { readonly item: OutputItem; readonly path: string }>();
  /** The calls of the current turn of the assistant, each with its path. */
  readonly #calls = new Map<string, string>();
  readonly #callIds = new Set<string>();

  constructor(
    private readonly conversation: Conversation,
    private readonly names: ToolNames,
    private readonly demands: Demands,
    private readonly paths: readonly string[],
  ) {}

  read(items: readonly InputItem[]): void {
    this.#collectOutputs(items);
    for (const [index, item] of items.entries()) this.#readItem(item, this.paths[index]!);
    this.#answerCalls();
    const [unused] = this.#outputs.values();
    if (unused !== undefined)
      throw fieldError(
        'invalid_request',
        `${unused.path}.call_id`,
        `there is no call "${unused.item.call_id}" before it; send the item of the call too`,
      );
  }

  #collectOutputs(items: readonly InputItem[]): void {
    for (const [index, item] of items.entries()) {
      if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') continue;
      const path = this.paths[index]!;
      if (this.#outputs.has(item.call_id))
        throw fieldError('invalid_request', `${path}.call_id`, `"${item.call_id}" is the id of two outputs; a call has only one`);
      this.#outputs.set(item.call_id, { item, path });
    }
  }

  #readItem(item: InputItem, path: string): void {
    this.#noteOthers(item);
    switch (item.type) {
      case undefined:
      case null:
      case 'message':
        return this.#addMessage(item, path);
      case 'function_call':
      case 'custom_tool_call':
        return this.#addCall(item, path);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#answerCalls();
      case 'reasoning':
        return this.#addReasoning(item);
      case 'additional_tools':
        // They are translated with the other tools.
        return;
      default:
        return this.#passOn(item, path);
    }
  }

  /** Notes the other fields of an item with a common form, which reach only upstreams of this format, where a model may read them. */
  #noteOthers(item: InputItem): void {
    if (!knownItems.has(item.type)) return;
    for (const [name, value] of Object.entries(item)) {
      if (translated.has(name) || value === null || (Array.isArray(value) && value.length === 0)) continue;
      this.demands.droppedElsewhere.add(`input.${name}`);
      this.demands.addForeign(value);
    }
  }

  #addMessage({ role, content }: MessageItem, path: string): void {
    const { messages } = this.conversation;
    const all = contentParts(content, `${path}.content`, this.demands);
    const parts = role === 'user' ? all : this.#withoutMedia(all, path);
    if (role === 'assistant') return this.#addTo(Role.ROLE_ASSISTANT, parts);
    this.#answerCalls();
    if (role === 'user') this.#addTo(Role.ROLE_USER, parts);
    else if (messages.length === 0) this.#addSystem(parts);
    // Moving later instructions to the top would change their meaning and break a vendor's prompt cache.
    else if (parts.length > 0) messages.push({ role: Role.ROLE_SYSTEM, parts });
  }

  /** Removes images and files: only user messages may have them in other formats and in the common prompt. */
  #withoutMedia(parts: Part[], path: string): Part[] {
    const isMedia = ({ part }: Part): boolean => part?.$case === 'image' || part?.$case === 'document';
    if (!parts.some(isMedia)) return parts;
    this.demands.refuseElsewhere(`${path}.content`, 'the model accepts only text here; send images and files in a message of role "user"');
    return parts.filter((part) => !isMedia(part));
  }

  #addSystem(parts: readonly Part[]): void {
    const { system, systemCacheTtls } = this.conversation;
    for (const { part, cacheTtl } of parts) {
      if (part?.$case !== 'text') continue;
      if (cacheTtl !== undefined) systemCacheTtls[system.length] = cacheTtl;
      system.push(part.value.text);
    }
  }

  #addCall(item: CallItem, path: string): void {
    if (this.#callIds.has(item.call_id))
      throw fieldError('invalid_request', `${path}.call_id`, `"${item.call_id}" is the id of two calls; ids must be unique`);
    this.#callIds.add(item.call_id);
    this.#calls.set(item.call_id, path);
    const name = wireToolName(this.names, item.name, item.namespace);
    const isCustom = item.type === 'custom_tool_call';
    const value = { id: item.call_id, name, argumentsJson: isCustom ? item.input : item.arguments, ...(isCustom ? { isCustom } : {}) };
    this.#addTo(Role.ROLE_ASSISTANT, [{ part: { $case: 'toolCall', value } }]);
  }

  /** Answers the calls of the turn in one message: other formats require the results right after the calls, and some reject separate ones. */
  #answerCalls(): void {
    if (this.#calls.size === 0) return;
    const results: Part[] = [];
    for (const [id, path] of this.#calls) {
      const output = this.#outputs.get(id);
      if (output === undefined)
        throw fieldError(
          'invalid_request',
          path,
          `the call "${id}" has no output; send an item of type function_call_output with this call_id`,
        );
      this.#outputs.delete(id);
      results.push(this.#resultOf(output.item, output.path));
    }
    this.#calls.clear();
    this.conversation.messages.push({ role: Role.ROLE_USER, parts: results });
  }

  #resultOf({ call_id: id, output }: OutputItem, path: string): Part {
    const content = contentParts(output, `${path}.output`, this.demands);
    const texts = content.flatMap(({ part }) => (part?.$case === 'text' ? [part.value.text] : []));
    if (texts.length < content.length) return toolResultPart(id, '', false, content);
    const ttl = content.findLast((part) => part.cacheTtl !== undefined)?.cacheTtl;
    const part = toolResultPart(id, texts.join('\n'), false);
    return ttl === undefined ? part : { ...part, cacheTtl: ttl };
  }

  #addReasoning(item: ReasoningItem): void {
    const part = partOfReasoning(item);
    if (part !== undefined) this.#addTo(Role.ROLE_ASSISTANT, [part]);
  }

  /** Reads an item without a common form, which reaches only upstreams of this format. */
  #passOn(item: Exclude<InputItem, { type?: null | 'message' }>, path: string): void {
    const type = String(item.type).slice(0, 64);
    const fix = Object.hasOwn(refusedItems, type) ? refusedItems[type] : undefined;
    if (fix !== undefined) throw fieldError('unsupported_field', `${path}.type`, `${type}: ${fix}`);
    assertNoFileIds(item, path);
    const { tools } = item as { tools?: unknown };
    if (Array.isArray(tools)) noteVendorTools(tools, `${path}.tools`, this.demands);
    this.demands.addForeignContent(item);
    if (holdsMedia(item)) this.demands.documents += 1;
    // What a vendor's tool found is in the text after it.
    if (runByVendor.test(type)) return this.demands.droppedElsewhere.add(`input.${type}`);
    this.demands.refuseElsewhere(`${path}.type`, `the model does not accept items of type "${type}"; send them as messages`);
  }

  /** Adds parts to the last message if it has this role and is the same turn. */
  #addTo(role: Role, parts: Part[]): void {
    if (parts.length === 0) return;
    const { messages } = this.conversation;
    const last: Message | undefined = messages.at(-1);
    if (role !== Role.ROLE_ASSISTANT || last?.role !== role) return void messages.push({ role, parts });
    // One by one: there may be more than fit on the stack as arguments of one call.
    for (const part of parts) last.parts.push(part);
  }
}

/**
 * Reports whether a value contains images or files anywhere, such as the screenshot of a computer: their bytes say nothing about their tokens. Bodies
 * are bounded in depth.
 */
function holdsMedia(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, field]) => (typeof field === 'string' ? mediaFields.has(name) : holdsMedia(field)));
}

const mediaFields: ReadonlySet<string> = new Set(['image_url', 'file_url', 'file_data']);

/** Returns the reasoning of an earlier answer; undefined for an item that says nothing and that no vendor sealed. */
function partOfReasoning({ id, summary, content, encrypted_content: sealed }: ReasoningItem): Part | undefined {
  if (sealed !== null && sealed !== undefined && sealed !== '') {
    const own = reasoningOf(sealed);
    if (own !== undefined) return reasoningPart(own.text, own.signature, own.redactedData);
  }
  const texts = [...(summary ?? []), ...(content ?? [])].map(({ text }) => text).filter((text) => text !== '');
  const text = texts.join('\n\n');
  if (!sealed) return text === '' ? undefined : reasoningPart(text, '', '');
  return reasoningPart(text, signatureOfItem({ id: id ?? '', encryptedContent: sealed }), '');
}
