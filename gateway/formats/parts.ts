// Creates the parts of a common message.
import type { DocumentPart, ImagePart, Part } from '#proto/inference/v1/inference.js';

export function textPart(text: string): Part {
  return { part: { $case: 'text', value: { text } } };
}

/** Returns an image part. `detail` is auto, low, high or original; empty lets the vendor decide. */
export function imagePart(source: ImagePart['source'], detail = ''): Part {
  return { part: { $case: 'image', value: { source, detail } } };
}

export function documentPart(source: DocumentPart['source'], about: { title?: string; context?: string; filename?: string } = {}): Part {
  const { title = '', context = '', filename = '' } = about;
  return { part: { $case: 'document', value: { source, title, context, filename } } };
}

/** Returns a part with a mark to cache the prompt up to it; without a mark if `cacheTtl` is undefined. */
export function cachedUpTo(part: Part, cacheTtl: CacheTtl | undefined): Part {
  return cacheTtl === undefined ? part : { ...part, cacheTtl };
}

/** How long a cached prompt lives. */
export type CacheTtl = '5m' | '1h';

/** Returns a part with a call of a function, or of a custom tool, whose arguments are free text. */
export function toolCallPart(id: string, name: string, argumentsJson: string, isCustom = false): Part {
  return { part: { $case: 'toolCall', value: { id, name, argumentsJson, ...(isCustom ? { isCustom } : {}) } } };
}

/** Returns a tool result part, with `content` instead of `text` if the result is more than text. */
export function toolResultPart(toolCallId: string, text: string, isError: boolean, content: Part[] = []): Part {
  return { part: { $case: 'toolResult', value: { toolCallId, text, isError, content } } };
}

/** Returns a reasoning part. `redactedData` is that of a redacted block, whose text is empty. */
export function reasoningPart(text: string, signature: string, redactedData: string): Part {
  return { part: { $case: 'reasoning', value: { text, signature, redactedData } } };
}
