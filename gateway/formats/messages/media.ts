// Images, documents and search results of a messages request → parts of the common prompt.
import type { DocumentPart, ImagePart, Part } from '#proto/inference/v1/inference.js';
import { fieldError } from '../requests/body-reader.js';
import { imageTypes } from '../requests/media.js';
import { documentPart, imagePart, textPart } from '../parts.js';
import type { BlockOf } from './block-schema.js';
import { fileFix, type Reading } from './reading.js';

/** Returns an image; no part if only upstreams of this format can accept it. */
export function imageParts({ source, ...block }: BlockOf<'image'>, path: string, reading: Reading): Part[] {
  const { demands } = reading;
  demands.addImage(path);
  if (block.transformations !== null && block.transformations !== undefined) demands.droppedElsewhere.add('image.transformations');
  reading.countOthers(block, ['type', 'cache_control']);
  const made = imageSource(source, `${path}.source`, reading);
  return made === undefined ? [] : [imagePart(made)];
}

function imageSource(source: BlockOf<'image'>['source'], path: string, reading: Reading): ImagePart['source'] | undefined {
  switch (source.type) {
    case 'base64':
      if (!source.media_type.startsWith('image/'))
        throw fieldError('invalid_request', `${path}.media_type`, `must be one of ${imageTypes.join(', ')}`);
      if (!imageTypes.includes(source.media_type))
        reading.demands.refuseElsewhere(
          `${path}.media_type`,
          `the model accepts images of type ${imageTypes.join(', ')}; convert the image`,
        );
      return { $case: 'data', value: { mediaType: source.media_type, base64: source.data } };
    case 'url':
      return { $case: 'url', value: httpsUrl(source.url, `${path}.url`) };
    case 'file':
      throw fieldError('unsupported_field', `${path}.type`, fileFix);
    default:
      reading.passOn(source, path);
      reading.demands.documents += 1;
      reading.demands.refuseElsewhere(`${path}.type`, 'the model accepts images as base64 or url');
      return undefined;
  }
}

/** Returns a document: one part, and one more for each image in its content; none if only upstreams of this format can accept it. */
export function documentParts({ source, ...block }: BlockOf<'document'>, path: string, reading: Reading): Part[] {
  const about = { title: block.title ?? '', context: block.context ?? '' };
  noteCitations(block, reading);
  reading.countOthers(block, ['type', 'cache_control', 'title', 'context']);
  const part = (made: DocumentPart['source']): Part => documentPart(made, about);
  switch (source.type) {
    case 'text':
      return [part({ $case: 'text', value: source.data })];
    case 'content': {
      if (typeof source.content === 'string') return [part({ $case: 'text', value: source.content })];
      const { text, images } = readContent(source.content, `${path}.source.content`, reading);
      return [part({ $case: 'text', value: text }), ...images];
    }
    case 'base64':
      reading.demands.addDocument(path);
      if (source.media_type !== 'application/pdf') {
        reading.demands.refuseElsewhere(
          `${path}.source.media_type`,
          'the model accepts documents of type application/pdf; send others as text',
        );
      }
      return [part({ $case: 'data', value: { mediaType: source.media_type, base64: source.data } })];
    case 'url':
      reading.demands.addDocument(path);
      reading.demands.refuseElsewhere(
        `${path}.source.type`,
        'the model does not accept documents by url; send the content itself, as base64 or text',
      );
      return [part({ $case: 'url', value: httpsUrl(source.url, `${path}.source.url`) })];
    case 'file':
      throw fieldError('unsupported_field', `${path}.source.type`, fileFix);
    default:
      reading.passOn(source, `${path}.source`);
      reading.demands.addDocument(path);
      reading.demands.refuseElsewhere(`${path}.source.type`, 'the model accepts documents as base64, text or content');
      return [];
  }
}

type DocumentContent = Exclude<Extract<BlockOf<'document'>['source'], { type: 'content' }>['content'], string>;

function readContent(content: DocumentContent, path: string, reading: Reading): { text: string; images: Part[] } {
  const texts: string[] = [];
  const images: Part[] = [];
  for (const [index, block] of content.entries()) {
    const at = `${path}.${index}`;
    reading.cacheTtl(block, at);
    if (block.type === 'text') {
      reading.countOthers(block, ['type', 'text', 'cache_control']);
      texts.push(block.text);
    } else if (block.type === 'image') images.push(...imageParts(block, at, reading));
    else {
      reading.passOn(block, at);
      reading.demands.addDocument(at);
      reading.demands.refuseElsewhere(`${at}.type`, 'the model accepts only text and images in a document');
    }
  }
  return { text: texts.join('\n'), images };
}

/** Returns a search result as text: its title and source, followed by its content. */
export function searchResultPart(block: BlockOf<'search_result'>, path: string, reading: Reading): Part {
  noteCitations(block, reading);
  reading.countOthers(block, ['type', 'cache_control', 'source', 'title', 'content']);
  const texts = block.content.map((each, index) => {
    reading.cacheTtl(each, `${path}.content.${index}`);
    reading.countOthers(each, ['type', 'text', 'cache_control']);
    return each.text;
  });
  return textPart([`${block.title} (${block.source})`, ...texts].join('\n'));
}

/** Notes citations that are requested or present; only upstreams of this format support them. */
export function noteCitations({ citations }: { citations?: unknown }, { demands }: Reading): void {
  if (citations !== null && citations !== undefined) demands.droppedElsewhere.add('citations');
}

function httpsUrl(url: string, path: string): string {
  if (/^https:\/\//i.test(url)) return url;
  throw fieldError('invalid_request', path, 'must be an https url; send other content as base64');
}
