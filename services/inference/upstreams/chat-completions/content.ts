// Converts texts, images and documents to the content of chat-completions messages. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { DocumentPart, ImagePart, InlineData, Part } from '#proto/inference/v1/inference.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import type { ChatCompletionsFlavour } from './flavour.js';

/** Holds what a translation knows about its upstream, and collects the fields that it drops, by the caller's names. */
export interface Translation extends ChatCompletionsFlavour {
  /** Whether the prompt's cache marks can be expressed. */
  readonly takesBreakpoints: boolean;
  readonly dropped: Set<string>;
}

/** Returns the content parts for `parts`; parts of other kinds are skipped. `field` is their path, for error messages. */
export function contentParts(parts: readonly Part[], field: string, translation: Translation): JsonObject[] {
  return parts.flatMap((part) => {
    const content = toContent(part.part, field);
    const last = content.at(-1);
    if (last === undefined) return [];
    return [...content.slice(0, -1), marked(last, part.cacheTtl, translation)];
  });
}

/** Returns the part with the caller's mark to cache the prompt up to here. */
export function marked(part: JsonObject, cacheTtl: string | undefined, { takesBreakpoints, dropped }: Translation): JsonObject {
  if (cacheTtl === undefined) return part;
  if (takesBreakpoints) return { ...part, prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } };
  dropped.add('cache_control');
  return part;
}

/** Returns the content of a message: plain text whenever that is enough, because some servers accept nothing else. */
export function contentOf(parts: readonly JsonObject[], { isOpenAi }: Translation): string | readonly JsonObject[] {
  const isPlain = parts.every((part) => part['type'] === 'text' && part['prompt_cache_breakpoint'] === undefined);
  if (!isPlain || (isOpenAi && parts.length > 1)) return parts;
  return parts.map(({ text }) => text).join('\n');
}

/** Returns a text part. */
export function textContent(text: string): JsonObject {
  return { type: 'text', text };
}

/** Returns the text of a text document; undefined for any other document. */
export function documentText(document: DocumentPart): string | undefined {
  const { source } = document;
  const isText = source?.$case === 'data' && source.value.mediaType.startsWith('text/');
  const body = source?.$case === 'text' ? source.value : isText ? Buffer.from(source.value.base64, 'base64').toString('utf8') : undefined;
  return body === undefined ? undefined : [...headOf(document), body].join('\n');
}

function toContent(part: Part['part'], field: string): JsonObject[] {
  switch (part?.$case) {
    case 'text':
      return [textContent(part.value.text)];
    case 'image':
      return [imageContent(part.value)];
    case 'document':
      return documentContent(part.value, field);
    default:
      return [];
  }
}

function imageContent({ source, detail }: ImagePart): JsonObject {
  const url = source?.$case === 'data' ? dataUri(source.value) : source?.value;
  return { type: 'image_url', image_url: { url, detail: detail === '' ? undefined : detail } };
}

function documentContent(document: DocumentPart, field: string): JsonObject[] {
  const text = documentText(document);
  if (text !== undefined) return [textContent(text)];
  const { source, filename, title } = document;
  if (source?.$case !== 'data') {
    throw new AppError('unsupported_field', `${field}: this model accepts documents as data, not by URL; send the document itself.`, {
      details: { field },
    });
  }
  const file = { filename: filename || title || 'document.pdf', file_data: dataUri(source.value) };
  const head = headOf(document);
  return [...(head.length > 0 ? [textContent(head.join('\n'))] : []), { type: 'file', file }];
}

/** Returns the caller's title and context of a document, if any. */
function headOf({ title, context }: DocumentPart): string[] {
  return [...(title === '' ? [] : [`Document: ${title}`]), ...(context === '' ? [] : [`Context: ${context}`])];
}

function dataUri({ mediaType, base64 }: InlineData): string {
  return `data:${mediaType};base64,${base64}`;
}
