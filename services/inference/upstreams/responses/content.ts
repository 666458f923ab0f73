// Converts texts, images and documents to the content parts of input items. Pure.
import type { Part } from '#proto/inference/v1/inference.js';
import { contentParts, type Translation } from '../chat-completions/content.js';
import type { JsonObject } from '../answers/stream-decoder.js';

/** Returns the input parts for `parts`; parts of other kinds are skipped. `field` is their path, for error messages. */
export function inputParts(parts: readonly Part[], field: string, translation: Translation): JsonObject[] {
  return parts.flatMap((part) => {
    const document = part.part?.$case === 'document' ? part.part.value : undefined;
    // This format fetches documents by itself, which chat-completions does not.
    if (document?.source?.$case === 'url') return [{ type: 'input_file', file_url: document.source.value }];
    return contentParts([part], field, translation).map(inputPart);
  });
}

/** Returns the content of a message: plain text if that is all. */
export function contentOf(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const [only] = parts;
  return parts.length === 1 && only!['type'] === 'input_text' && only!['prompt_cache_breakpoint'] === undefined
    ? (only!['text'] as string)
    : parts;
}

/** Returns a part of a chat-completions message as a part of an input item. */
export function inputPart({ type, image_url: image, file, ...part }: JsonObject): JsonObject {
  if (type === 'text') return { type: 'input_text', ...part };
  if (type === 'file') return { type: 'input_file', ...(file as JsonObject), ...part };
  const { url, detail = 'auto' } = image as JsonObject;
  return { type: 'input_image', image_url: url, detail, ...part };
}
