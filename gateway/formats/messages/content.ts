// The blocks of one message of a messages request → the parts of a common message.
import type { Part } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import { cachedUpTo, reasoningPart, textPart, toolCallPart, toolResultPart } from '../parts.js';
import { type BlockOf, type BlockParam, type MessageParam, type ResultBlockParam, rolesOf } from './block-schema.js';
import { documentParts, imageParts, noteCitations, searchResultPart } from './media.js';
import type { Reading } from './reading.js';

/** Returns a block as parts, the last of which carries its cache mark. Raises invalid_request or unsupported_field that names the invalid field. */
export function partsOf(block: BlockParam, role: MessageParam['role'], path: string, reading: Reading): Part[] {
  if (rolesOf(block)?.includes(role) === false)
    throw fieldError('invalid_request', `${path}.type`, `blocks of this type are not allowed in ${role} messages`);
  const ttl = reading.cacheTtl(block, path);
  const parts = translate(block, role, path, reading);
  const last = parts.pop();
  return last === undefined ? [] : [...parts, cachedUpTo(last, ttl)];
}

function translate(block: BlockParam, role: MessageParam['role'], path: string, reading: Reading): Part[] {
  switch (block.type) {
    case 'text':
      if (role === 'user' && reading.isRecent && Array.isArray(block.citations) && block.citations.length > 0) {
        throw fieldError('invalid_request', `${path}.citations`, 'user text cannot have citations since version 2026-10-21; leave it out');
      }
      return [textBlockPart(block, path, reading)];
    case 'image':
      return imageParts(block, path, reading);
    case 'document':
      return role === 'assistant' ? assistantDocument(block, path, reading) : documentParts(block, path, reading);
    case 'search_result':
      return [searchResultPart(block, path, reading)];
    case 'tool_use':
      reading.countOthers(block, ['type', 'cache_control', 'id', 'name', 'input']);
      return [toolCallPart(block.id, block.name, JSON.stringify(block.input))];
    case 'tool_result':
      return [resultPart(block, path, reading)];
    case 'thinking':
      // A signature without text is a thought whose display was omitted, and must be sent back; a thought without either is dropped.
      return block.thinking === '' && !block.signature ? [] : [reasoningPart(block.thinking, block.signature ?? '', '')];
    case 'redacted_thinking':
      return [reasoningPart('', '', block.data)];
    default:
      return foreignBlock(block, path, reading);
  }
}

/** Raises invalid_request for empty text, as the vendor does. */
export function assertText(text: string, path: string): void {
  if (text === '') throw fieldError('invalid_request', `${path}.text`, 'text content blocks must be non-empty');
}

function textBlockPart(block: BlockOf<'text'>, path: string, reading: Reading): Part {
  assertText(block.text, path);
  noteCitations(block, reading);
  reading.countOthers(block, ['type', 'text', 'cache_control']);
  return textPart(block.text);
}

function assistantDocument(block: BlockOf<'document'>, path: string, reading: Reading): Part[] {
  if (reading.isRecent)
    throw fieldError('invalid_request', `${path}.type`, 'document blocks are only allowed in user messages since version 2026-10-21');
  reading.demands.refuseElsewhere(`${path}.type`, 'the model does not accept documents in assistant messages; move it into a user message');
  return documentParts(block, path, reading);
}

function resultPart(block: BlockOf<'tool_result'>, path: string, reading: Reading): Part {
  const { tool_use_id: id, content, is_error: isError } = block;
  reading.countOthers(block, ['type', 'cache_control', 'tool_use_id', 'content', 'is_error']);
  if (content === null || content === undefined) return toolResultPart(id, '', isError === true);
  if (typeof content === 'string') return toolResultPart(id, content, isError === true);
  const parts = content.flatMap((each, index) => {
    const at = `${path}.content.${index}`;
    const ttl = reading.cacheTtl(each, at);
    return resultParts(each, at, reading).map((part) => cachedUpTo(part, ttl));
  });
  const texts = parts.map(({ part, cacheTtl }) => (part?.$case === 'text' && cacheTtl === undefined ? part.value.text : undefined));
  if (texts.every((text) => text !== undefined)) return toolResultPart(id, texts.join('\n'), isError === true);
  return toolResultPart(id, '', isError === true, parts);
}

function resultParts(block: ResultBlockParam, path: string, reading: Reading): Part[] {
  switch (block.type) {
    case 'text':
      return [textBlockPart(block, path, reading)];
    case 'image':
      return imageParts(block, path, reading);
    case 'document':
      return documentParts(block, path, reading);
    case 'search_result':
      return [searchResultPart(block, path, reading)];
    case 'tool_reference':
      // It loads a tool whose definition was deferred; other formats send every tool from the start.
      reading.demands.droppedElsewhere.add('tool_reference');
      reading.passOn(block, path);
      return [];
    default:
      if (rolesOf(block) !== undefined)
        throw fieldError('invalid_request', `${path}.type`, 'blocks of this type are not allowed in tool results');
      return foreignBlock(block, path, reading);
  }
}

// What a vendor's server did for an earlier answer, and changes of the available tools. The conversation is valid without them.
const dispensable = /^(server_tool_use|mcp_tool_use|[a-z_]+_tool_result|tool_addition|tool_removal|fallback)$/;

/** Blocks that are known to be text. */
const textual = ['compaction', 'browser_state'];

function foreignBlock(block: { type: unknown }, path: string, reading: Reading): Part[] {
  const type = block.type as string;
  reading.passOn(block, path);
  const isDispensable = dispensable.test(type);
  // It may be a url or contain a PDF, and the document may fill the context.
  if ((!isDispensable && !textual.includes(type)) || holdsMedia(block)) reading.demands.documents += 1;
  if (isDispensable) reading.demands.droppedElsewhere.add(type);
  else
    reading.demands.refuseElsewhere(
      `${path}.type`,
      `the model does not accept blocks of type "${type.slice(0, 64)}"; leave it out, or choose a model behind an upstream of the messages format`,
    );
  return [];
}

/** Reports whether a value contains images or documents anywhere: their bytes say nothing about their tokens. Bodies are bounded in depth. */
function holdsMedia(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { type } = value as { type?: unknown };
  return type === 'document' || type === 'image' || Object.values(value).some(holdsMedia);
}
