// What is kept of the body of a request or an answer. Pure.

/** The largest part of a body that is kept, in bytes of UTF-8. */
export const keptBytesMax = 256 * 1024;
/** A shorter image or file is kept as it is. */
const smallChars = 4096;

const dataUri = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/;
const base64 = /^[\w+/-]+={0,2}$/;
/** The fields of tools by which a vendor signs in to a server on behalf of the caller. */
const credentials: ReadonlySet<string> = new Set(['authorization', 'authorization_token']);

/** A body as it is kept. */
export interface KeptBody {
  readonly text: string;
  readonly isTruncated: boolean;
}

/**
 * Returns a parsed body as JSON, or its own text if nothing in it is left out: images and files that are not small are replaced by their type and
 * size, credentials of tools by a note. Cut at `keptBytesMax`.
 */
export function keptBody(value: unknown, text?: string): KeptBody {
  let isChanged = false;
  const note = (words: string): string => {
    isChanged = true;
    return `[${words}, not kept]`;
  };
  function replace(this: unknown, name: string, item: unknown): unknown {
    if (name === 'headers' && fieldsOf(this)['type'] === 'mcp') return note('headers');
    if (typeof item !== 'string') return item;
    if (credentials.has(name)) return note('credential');
    if (item.length < smallChars) return item;
    const uri = dataUri.exec(item);
    if (uri === null && !base64.test(item)) return item;
    const { media_type: type, format } = fieldsOf(this);
    const kind = uri?.[1] ?? (typeof type === 'string' ? type : typeof format === 'string' ? format : 'data');
    const bytes = Math.floor(((item.length - (uri?.[0].length ?? 0)) * 3) / 4);
    return note(`${kind.slice(0, 100)}, ${bytes} bytes`);
  }
  const json = JSON.stringify(value, replace);
  return cut(isChanged || text === undefined ? json : text);
}

function fieldsOf(holder: unknown): Readonly<Record<string, unknown>> {
  return holder as Readonly<Record<string, unknown>>;
}

function cut(text: string): KeptBody {
  // No character is shorter than one byte.
  const bytes = Buffer.from(text.slice(0, keptBytesMax));
  if (text.length <= keptBytesMax && bytes.length <= keptBytesMax) return { text, isTruncated: false };
  // The last character may have been cut in the middle.
  return {
    text: bytes
      .subarray(0, keptBytesMax)
      .toString()
      .replace(/\uFFFD$/, ''),
    isTruncated: true,
  };
}
