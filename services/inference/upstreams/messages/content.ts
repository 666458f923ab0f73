// Converts parts of the common prompt to content blocks. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { DocumentPart, ImagePart, Part, ReasoningPart, ToolResultPart } from '#proto/inference/v1/inference.js';
import { itemOfSignature } from '#rules/wire/reasoning-seals.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';
import type { SentReasoning } from '../../tokens/prompt-text.js';
import { callArgumentsJson } from '../requests/custom-tools.js';
import { toolArguments } from '../requests/tool-json.js';

/** A block while the request is being built. */
export type Block = Record<string, unknown>;

/** Returns the block of a part with its cache mark; none for what the format rejects: empty text, and thoughts that its vendor did not sign. */
export function toBlocks({ part, cacheTtl }: Part): Block[] {
  const block = toBlock(part);
  if (block === undefined) return [];
  const isMarked = cacheTtl !== undefined && part?.$case !== 'reasoning';
  return [isMarked ? { ...block, cache_control: cacheControl(cacheTtl) } : block];
}

/** Returns a text block; undefined for text that would be rejected as empty. */
export function textBlock(text: string): Block | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text };
}

/** Returns a mark to cache the prompt up to here. */
export function cacheControl(ttl: string): Block {
  return ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' };
}

function toBlock(part: Part['part']): Block | undefined {
  switch (part?.$case) {
    case 'text':
      return textBlock(part.value.text);
    case 'image':
      return { type: 'image', source: imageSource(part.value) };
    case 'document':
      return documentBlock(part.value);
    case 'toolCall':
      return {
        type: 'tool_use',
        id: messagesToolId(part.value.id),
        name: part.value.name,
        input: toolArguments(callArgumentsJson(part.value)),
      };
    case 'toolResult':
      return toolResultBlock(part.value);
    case 'reasoning': {
      const { text, signature, redactedData } = part.value;
      if (redactedData !== '') return { type: 'redacted_thinking', data: redactedData };
      return isSigned(signature) ? { type: 'thinking', thinking: text, signature } : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns the reasoning that a server of this format receives. */
export function sentReasoning({ text, signature, redactedData }: ReasoningPart): SentReasoning {
  if (redactedData !== '') return { text: '', encrypted: redactedData };
  return isSigned(signature) ? { text, encrypted: signature } : { text: '', encrypted: '' };
}

/** Reports whether a vendor of this format signed the reasoning. What another vendor left unsigned, or encrypted, would be rejected. */
function isSigned(signature: string): boolean {
  return signature !== '' && itemOfSignature(signature) === undefined;
}

function toolResultBlock({ toolCallId, text, isError, content }: ToolResultPart): Block {
  const blocks = content.flatMap(toBlocks);
  const result = blocks.length > 0 ? blocks : text === '' ? undefined : text;
  return { type: 'tool_result', tool_use_id: messagesToolId(toolCallId), content: result, is_error: isError ? true : undefined };
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function imageSource({ source }: ImagePart): Block {
  if (source?.$case !== 'data') return { type: 'url', url: source?.value };
  const mediaType = source.value.mediaType.toLowerCase().replace('image/jpg', 'image/jpeg');
  if (!imageTypes.includes(mediaType)) throw unsupported(`this model reads images of the types ${imageTypes.join(', ')}, not ${mediaType}`);
  return { type: 'base64', media_type: mediaType, data: source.value.base64 };
}

function documentBlock(document: DocumentPart): Block | undefined {
  const source = documentSource(document);
  if (source === undefined) return undefined;
  const title = document.title || document.filename;
  return {
    type: 'document',
    source,
    title: title === '' ? undefined : title,
    context: document.context === '' ? undefined : document.context,
  };
}

function documentSource({ source }: DocumentPart): Block | undefined {
  switch (source?.$case) {
    case 'url':
      return { type: 'url', url: source.value };
    case 'text':
      return textSource(source.value);
    case 'data': {
      const mediaType = source.value.mediaType.toLowerCase();
      if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: source.value.base64 };
      if (/^text\/|^application\/(json|xml|yaml)\b/.test(mediaType))
        return textSource(Buffer.from(source.value.base64, 'base64').toString('utf8'));
      throw unsupported(`this model reads PDF and plain text, not ${mediaType}`);
    }
    default:
      return undefined;
  }
}

function textSource(data: string): Block | undefined {
  return data === '' ? undefined : { type: 'text', media_type: 'text/plain', data };
}

function unsupported(text: string): AppError {
  return new AppError('unsupported_field', `messages: ${text}.`, { details: { field: 'messages' } });
}
