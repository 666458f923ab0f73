// Reads the size of an image in pixels from its header alone. Pure.
import type { InlineData } from '#proto/inference/v1/inference.js';

/** Pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

// A photo from a camera has its size after a preview, which comes in segments of up to 64 KiB each.
const jpegSegmentsMax = 64;

/** Returns the size of a PNG, JPEG, GIF or WebP; undefined for anything else and for implausible headers. Decodes only a few bytes. */
export function imageSize({ base64 }: InlineData): ImageSize | undefined {
  const head = bytesAt(base64, 0, 32);
  if (head.length < 26) return undefined;
  if (head.readUInt32BE(0) === 0x89504e47) return sized(head.readUInt32BE(16), head.readUInt32BE(20));
  if (head.toString('latin1', 0, 4) === 'GIF8') return sized(head.readUInt16LE(6), head.readUInt16LE(8));
  if (head.readUInt16BE(0) === 0xffd8) return jpegSize(base64);
  return head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP' ? webpSize(head) : undefined;
}

function webpSize(head: Buffer): ImageSize | undefined {
  if (head.length < 30) return undefined;
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return sized(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const bits = head.readUInt32LE(21);
      return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return sized(head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1);
    default:
      return undefined;
  }
}

/** Walks the segments up to the one that begins a frame. */
function jpegSize(base64: string): ImageSize | undefined {
  let at = 2;
  for (let segment = 0; segment < jpegSegmentsMax; segment += 1) {
    const bytes = bytesAt(base64, at, 9);
    if (bytes.length < 9 || bytes[0] !== 0xff) return undefined;
    const marker = bytes[1]!;
    // Padding, and markers without content.
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return sized(bytes.readUInt16BE(7), bytes.readUInt16BE(5));
    at += 2 + bytes.readUInt16BE(2);
  }
  return undefined;
}

/** Returns `count` bytes of the data from the position `at`. */
function bytesAt(base64: string, at: number, count: number): Buffer {
  const skipped = at % 3;
  const start = ((at - skipped) / 3) * 4;
  return Buffer.from(base64.slice(start, start + Math.ceil((skipped + count) / 3) * 4), 'base64').subarray(skipped, skipped + count);
}

function sized(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}
