// Data URIs (RFC 2397), in which this format brings images and files.

export interface DataUri {
  /** In lower case and without parameters; text/plain when the URI names none. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  /** As it stands after the comma. */
  readonly data: string;
}

// No media type in use is nearly as long; beyond this a comma belongs to something else.
const headCharsMax = 256;

/** The pieces of a data URI; undefined when the text is none. The data itself is not looked at, for it may be long. */
export function readDataUri(text: string): DataUri | undefined {
  if (text.slice(0, 5).toLowerCase() !== 'data:') return undefined;
  const comma = text.slice(0, headCharsMax).indexOf(',');
  if (comma === -1) return undefined;
  const [mediaType = '', ...parameters] = text.slice(5, comma).toLowerCase().split(';');
  return { mediaType: mediaType.trim() || 'text/plain', isBase64: parameters.at(-1)?.trim() === 'base64', data: text.slice(comma + 1) };
}

/** The data as UTF-8 text; undefined when its escapes are malformed. */
export function textOf({ isBase64, data }: DataUri): string | undefined {
  if (isBase64) return Buffer.from(data, 'base64').toString();
  try {
    return decodeURIComponent(data);
  } catch {
    return undefined;
  }
}
