// The content of a message or tool output of a responses request → parts of the common prompt.
import type { Part } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import { assertNoFileIds, cacheTtl, translateFile, translateImage } from '../requests/media.js';
import { cachedUpTo, textPart } from '../parts.js';
import type { Demands } from '../requests/required-capabilities.js';
import type { Content, ContentPart } from './item-schema.js';

/** Translates content at `path`. Empty text is left out, because vendors reject it. Raises invalid_request or unsupported_field. */
export function contentParts(content: Content, path: string, demands: Demands): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)];
  const parts: Part[] = [];
  for (const [index, part] of content.entries()) {
    const made = contentPart(part, `${path}[${index}]`, demands);
    countOthers(part, demands);
    if (made !== undefined) parts.push(cachedUpTo(made, cacheTtl(part)));
  }
  return parts;
}

const translated: ReadonlySet<string> = new Set(
  'type text refusal image_url detail file_data file_url filename prompt_cache_breakpoint parsed'.split(' '),
);

/** Counts the fields of a part alongside its content, such as annotations, because a model behind this format may read them. */
function countOthers(part: ContentPart, demands: Demands): void {
  for (const [name, value] of Object.entries(part)) {
    if (!translated.has(name) && value !== null && !(Array.isArray(value) && value.length === 0)) demands.addForeign(value);
  }
}

const textTypes: ReadonlySet<unknown> = new Set(['input_text', 'output_text', 'text', 'summary_text']);

function contentPart(part: ContentPart, path: string, demands: Demands): Part | undefined {
  if ('text' in part && textTypes.has(part.type)) return part.text === '' ? undefined : textPart(part.text);
  switch (part.type) {
    case 'refusal':
      return part.refusal === '' ? undefined : textPart(part.refusal);
    case 'input_image': {
      const field = `${path}.image_url`;
      if (part.image_url === undefined) throw fieldError('invalid_request', field, 'Field required');
      return translateImage({ url: part.image_url, detail: part.detail }, { path, field }, demands);
    }
    case 'input_file': {
      const isUrl = part.file_url !== null && part.file_url !== undefined;
      if (isUrl && !/^https:\/\//i.test(part.file_url!)) throw fieldError('invalid_request', `${path}.file_url`, 'must be an https url');
      const content = isUrl ? part.file_url : part.file_data;
      return translateFile({ content, filename: part.filename }, { path, field: `${path}.file_data` }, demands);
    }
    default:
      assertNoFileIds(part, path);
      demands.addForeignDocument(part);
      demands.refuseElsewhere(
        `${path}.type`,
        `the model does not accept content of type "${String(part.type).slice(0, 64)}"; send input_text, input_image or input_file`,
      );
      return undefined;
  }
}
