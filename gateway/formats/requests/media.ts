// Images, files and cache marks as OpenAI's two formats have them → parts of the common prompt.
import type { Part } from '#proto/inference/v1/inference.js';
import { fieldError } from './body-reader.js';
import { readDataUri, textOf } from './data-uri.js';
import { type CacheTtl, documentPart, imagePart } from '../parts.js';
import type { Demands } from './required-capabilities.js';

export const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const details = ['auto', 'low', 'high', 'original'];
const textTypes = /^(text\/.*|application\/(json|xml|yaml|x-yaml|toml|javascript|x-ndjson)|.*\+(json|xml))$/;
/** The first bytes of every PDF, in base64. */
const pdfStart = 'JVBERi0';

/** Where a part is in the body, and the field in it that holds the content. */
export interface Place {
  readonly path: string;
  readonly field: string;
}

interface Image {
  readonly url: string;
  readonly detail?: string | null;
}

interface File {
  /** A data URI, base64 of a PDF, or an https url. */
  readonly content: string | null | undefined;
  readonly filename?: string | null;
}

/** Translates an image, whose url is at `field`. Raises invalid_request for a url that no vendor fetches. */
export function translateImage({ url, detail }: Image, { path, field }: Place, demands: Demands): Part {
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
    demands.refuseElsewhere(field, `the model accepts images of type ${imageTypes.join(', ')}; convert the image`);
  return imagePart({ $case: 'data', value: { mediaType, base64: data.data } }, isKnownDetail ? detail : '');
}

/** Translates a file, whose content is at `field`. Raises invalid_request if it has none, or malformed content. */
export function translateFile({ content, filename }: File, { path, field }: Place, demands: Demands): Part {
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
    demands.refuseElsewhere(field, 'the model accepts files of type application/pdf or text; convert the file');
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

/** Raises unsupported_field if a value contains a vendor's file id. Bodies are bounded in depth. */
export function assertNoFileIds(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`;
    if (fileIdFields.includes(name) && (typeof field === 'string' || Array.isArray(field))) {
      throw fieldError(
        'unsupported_field',
        at,
        'vendor file ids are not supported, because the files belong to an account at the vendor; send the content itself',
      );
    }
    assertNoFileIds(field, at);
  }
}

const fileIdFields = ['file_id', 'file_ids', 'vector_store_ids'];
