// The content of a chat-completions message → parts of the common prompt.
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { Part } from '#proto/inference/v1/inference.js';
import { holdsUrl } from '../requests/foreign-tokens.js';
import type { Demands } from '../requests/required-capabilities.js';
import { assertNoFileIds, cacheTtl, translateFile, translateImage } from '../requests/media.js';
import { cachedUpTo, textPart } from '../parts.js';
import type { ContentPart } from './message-schema.js';

/** Translates content at `path`. Empty text is left out, because vendors reject it. Raises invalid_request or unsupported_field. */
export function contentParts(content: string | readonly ContentPart[], path: string, demands: Demands): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)];
  const parts: Part[] = [];
  for (const [index, part] of content.entries()) {
    const made = contentPart(part, `${path}[${index}]`, demands);
    if (made !== undefined) parts.push(cachedUpTo(made, cacheTtl(part)));
  }
  return parts;
}

function contentPart(part: ContentPart, path: string, demands: Demands): Part | undefined {
  switch (part.type) {
    case 'text':
      countOthers(part, 'text', demands);
      return part.text === '' ? undefined : textPart(part.text);
    case 'refusal':
      countOthers(part, 'refusal', demands);
      return part.refusal === '' ? undefined : textPart(part.refusal);
    case 'image_url':
      countOthers(part, 'image_url', demands);
      return translateImage(part.image_url, { path, field: `${path}.image_url.url` }, demands);
    case 'file':
      countOthers(part, 'file', demands);
      return translateFile(
        { content: part.file.file_data, filename: part.file.filename },
        { path, field: `${path}.file.file_data` },
        demands,
      );
    case 'input_audio':
      demands.need(Modality.MODALITY_AUDIO, path);
      // Alibaba's servers also accept a url as data (help.aliyun.com/en/model-studio/qwen-omni).
      if (holdsUrl(part)) demands.addForeignDocument(part);
      else demands.addForeignContent(part);
      demands.refuseElsewhere(`${path}.type`, 'the model does not accept audio; send a transcript');
      return undefined;
    default:
      assertNoFileIds(part, path);
      demands.addForeignDocument(part);
      demands.refuseElsewhere(
        `${path}.type`,
        `the model does not accept content of type "${String(part.type).slice(0, 64)}"; send text, image_url or file`,
      );
      return undefined;
  }
}

const marks = ['cache_control', 'prompt_cache_breakpoint'];

/** Counts the fields of a part alongside its content, because a model behind this format may read them. */
function countOthers(part: object, content: string, demands: Demands): void {
  for (const [name, value] of Object.entries(part)) {
    if (name !== 'type' && name !== content && value !== null && !marks.includes(name)) demands.addForeign(value);
  }
}
