// Encodes, decodes and measures long texts in UTF-8. V8 takes several times as long to count the bytes of a text, or to allocate garbage-collected
// memory for them, as to write them, so they are written to memory that is reused.

const room = Buffer.allocUnsafeSlow(1024 * 1024);
/** A text up to this length fits, whatever its characters. */
const charsMax = room.length / 3;
/** For a shorter text Node's own functions are fast enough. */
const charsMin = 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns the number of bytes of a text. */
export function utf8Length(text: string): number {
  return hasRoom(text) ? room.write(text) : Buffer.byteLength(text);
}

/** Returns the bytes of a text. */
export function encodeUtf8(text: string): Buffer {
  return hasRoom(text) ? Buffer.from(room.subarray(0, room.write(text))) : Buffer.from(text);
}

/** Returns the text in these chunks, `bytes` long together. Throws if they are not UTF-8. */
export function decodeUtf8(chunks: readonly Buffer[], bytes: number): string {
  if (chunks.length === 1) return decoder.decode(chunks[0]);
  if (bytes > room.length) return decoder.decode(Buffer.concat(chunks, bytes));
  let end = 0;
  for (const chunk of chunks) end += chunk.copy(room, end);
  return decoder.decode(room.subarray(0, end));
}

function hasRoom({ length }: string): boolean {
  return length >= charsMin && length <= charsMax;
}
