// Data URIs (RFC 2397), which carry images and files in OpenAI's formats.

export interface DataUri {
  /** In lower case and without parameters; text/plain if the URI names none. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  /** The text after the comma, unchanged. */
  readonly data: string;
}

// No media type in use comes near this length; a later comma belongs to something else.
const headCharsMax = 256;

/** Returns the pieces of a data URI; undefined if the text is not one. The data itself is not inspected, because it may be long. */
export function readDataUri(text: string): DataUri | undefined {
  if (text.slice(0, 5).toLowerCase() !== 'data:') return undefined;
  const comma = text.slice(0, headCharsMax).indexOf(',');
  if (comma === -1) return undefined;
  const [mediaType = '', ...parameters] = text.slice(5, comma).toLowerCase().split(';');
  return { mediaType: mediaType.trim() || 'text/plain', isBase64: parameters.at(-1)?.trim() === 'base64', data: text.slice(comma + 1) };
}

/** Returns the data as UTF-8 text; undefined if its escapes are malformed. */
export function textOf({ isBase64, data }: DataUri): string | undefined {
  if (isBase64) return Buffer.from(data, 'base64').toString();
  try {
    return decodeURIComponent(data);
  } catch {
    return undefined;
  }
}
