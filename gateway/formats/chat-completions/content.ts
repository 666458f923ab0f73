// The content of a chat-completions message → parts of the common prompt.
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { Part } from '#proto/inference/v1/inference.js';
import { fieldError } from '../body-reader.js';
import type { Demands } from '../required-capabilities.js';
import { cachedUpTo, type CacheTtl, documentPart, imagePart, textPart } from '../parts.js';
import { readDataUri, textOf } from './data-uri.js';
import type { ContentPart, FilePart, ImagePart } from './message-schema.js';

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const details = ['auto', 'low', 'high', 'original'];
const textTypes = /^(text\/.*|application\/(json|xml|yaml|x-yaml|toml|javascript|x-ndjson)|.*\+(json|xml))$/;
/** The first bytes of every PDF, in base64. */
const pdfStart = 'JVBERi0';

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
      return translateImage(part.image_url, path, demands);
    case 'file':
      countOthers(part, 'file', demands);
      return translateFile(part.file, path, demands);
    case 'input_audio':
      demands.need(Modality.MODALITY_AUDIO, path);
      demands.addForeign(part);
      demands.refuseElsewhere(`${path}.type`, 'the model does not accept audio; send a transcript');
      return undefined;
    default:
      assertNoFileIds(part, path);
      demands.addForeign(part);
      // It may be a url, and the document behind it may fill the context.
      demands.documents += 1;
      demands.refuseElsewhere(
        `${path}.type`,
        `the model does not accept content of type "${String(part.type).slice(0, 64)}"; send text, image_url or file`,
      );
      return undefined;
  }
}

function translateImage({ url, detail }: ImagePart['image_url'], path: string, demands: Demands): Part {
  const field = `${path}.image_url.url`;
  demands.addImage(path);
  const isKnownDetail = detail !== null && detail !== undefined && details.includes(detail);
  if (detail !== null && detail !== undefined && !isKnownDetail) demands.droppedElsewhere.add('image_url.detail');
  const data = readDataUri(url);
  if (data === undefined) {
    if (!/^https:\/\//i.test(url))
      throw fieldError('invalid_request', field, 'must be an https url or a data URI such as data:image/png;base64,…');
    return imagePart({ $case: 'url', value: url }, isKnownDetail ? detail : '');
  }
  if (!data.isBase64 || data.data === '') throw fieldError('invalid_request', field, 'the data must be in base64: data:image/png;base64,…');
  const mediaType = data.mediaType === 'image/jpg' ? 'image/jpeg' : data.mediaType;
  if (!mediaType.startsWith('image/'))
    throw fieldError('invalid_request', field, `must be one of ${imageTypes.join(', ')}; send other files in a part of type "file"`);
  if (!imageTypes.includes(mediaType))
    demands.refuseElsewhere(field, `the model accepts images of type ${imageTypes.join(', ')}; convert it`);
  return imagePart({ $case: 'data', value: { mediaType, base64: data.data } }, isKnownDetail ? detail : '');
}

function translateFile({ file_data: content, filename }: FilePart['file'], path: string, demands: Demands): Part {
  const field = `${path}.file.file_data`;
  if (content === null || content === undefined || content === '')
    throw fieldError('invalid_request', field, 'Field required; send the content as a data URI such as data:application/pdf;base64,…');
  const about = { filename: filename ?? '' };
  if (/^https:\/\//i.test(content)) {
    demands.addDocument(path);
    return documentPart({ $case: 'url', value: content }, about);
  }
  const data = content.startsWith(pdfStart) ? { mediaType: 'application/pdf', isBase64: true, data: content } : readDataUri(content);
  if (data === undefined) throw fieldError('invalid_request', field, 'must be a data URI such as data:application/pdf;base64,…');
  if (textTypes.test(data.mediaType)) {
    const text = textOf(data);
    if (text === undefined) throw fieldError('invalid_request', field, 'has malformed % escapes; send the text in base64');
    return documentPart({ $case: 'text', value: text }, about);
  }
  if (!data.isBase64 || data.data === '')
    throw fieldError('invalid_request', field, 'the data must be in base64: data:application/pdf;base64,…');
  demands.addDocument(path);
  if (data.mediaType !== 'application/pdf')
    demands.refuseElsewhere(field, 'the model accepts files of type application/pdf or text; convert it');
  return documentPart({ $case: 'data', value: { mediaType: data.mediaType, base64: data.data } }, about);
}

type Mark = { ttl?: string | null } | null;
interface Markable {
  cache_control?: Mark;
  prompt_cache_breakpoint?: Mark;
}

/** Returns how long the caller wants the prompt up to here cached; undefined if it does not say. */
export function cacheTtl(marked: object): CacheTtl | undefined {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = marked as Markable;
  if (control !== null && control !== undefined) return control.ttl === '1h' ? '1h' : '5m';
  if (breakpoint === null || breakpoint === undefined) return undefined;
  // The vendor's lifetimes are at least 30m and 12h, which 5m would cut short.
  return breakpoint.ttl === null || breakpoint.ttl === undefined ? '5m' : '1h';
}

const marks = ['cache_control', 'prompt_cache_breakpoint'];

/** Counts the fields of a part beside its content, because a model behind this format may read them. */
function countOthers(part: object, content: string, demands: Demands): void {
  for (const [name, value] of Object.entries(part)) {
    if (name !== 'type' && name !== content && value !== null && !marks.includes(name)) demands.addForeign(value);
  }
}

/** Raises unsupported_field if a value contains a vendor's file id. Bodies are bounded in depth. */
export function assertNoFileIds(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`;
    if (fileIdFields.includes(name) && (typeof field === 'string' || Array.isArray(field))) {
      throw fieldError(
        'unsupported_field',
        at,
        'file ids of a vendor are not accepted, because files belong to accounts there; send the content itself',
      );
    }
    assertNoFileIds(field, at);
  }
}

const fileIdFields = ['file_id', 'file_ids', 'vector_store_ids'];
