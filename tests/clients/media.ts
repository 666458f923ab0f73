// Images and documents for the client tests, and the form in which an upstream of each format must receive them.
import type { RecordedRequest } from '../upstream/stub-upstream.js';
import type { Upstream } from './stage.js';

/** A PNG of one pixel, in base64. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
export const pngUrl = `data:image/png;base64,${png}`;
/** A PDF of one empty page, in base64. */
export const pdf = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>',
).toString('base64');
export const pdfUrl = `data:application/pdf;base64,${pdf}`;
export const remotePicture = 'https://example.com/cat.png';

interface Part {
  readonly type: string;
  readonly image_url?: { readonly url: string } | string;
  readonly file?: { readonly file_data?: string };
  readonly file_data?: string;
  readonly source?: { readonly type: string; readonly data?: string; readonly url?: string; readonly media_type?: string };
  readonly content?: unknown;
}

/** Returns the media in the messages of a request as URLs, in order, including those in tool results. */
export function shownTo(upstream: Upstream, { body }: RecordedRequest): string[] {
  const parts = (content: unknown): Part[] =>
    Array.isArray(content) ? (content as Part[]).flatMap((part) => [part, ...parts(part.content)]) : [];
  return ((body['messages'] ?? body['input']) as { content?: unknown; output?: unknown }[]).flatMap(({ content, output }) =>
    parts(content ?? output).flatMap(({ type, image_url: image, file, file_data: data, source }) => {
      if (upstream !== 'messages') {
        const url = (typeof image === 'object' ? image.url : image) ?? file?.file_data ?? data;
        return url === undefined ? [] : [url];
      }
      if ((type !== 'image' && type !== 'document') || source === undefined) return [];
      return [source.type === 'url' ? source.url! : `data:${source.media_type};base64,${source.data}`];
    }),
  );
}
