import { describe, expect, it } from '@jest/globals';
import { ImagePart, Prompt } from '#proto/inference/v1/inference.js';
import { unknownRecipient } from './estimate.js';
import { Meter } from './meter.js';
import { textRequest } from '../testing/fixtures.js';
import { imageSize } from './image-size.js';
import { imageTokens, mediaTokens, pagesOf } from './media-tokens.js';

const inline = (bytes: Buffer, mediaType = 'image/png') => ({ mediaType, base64: bytes.toString('base64') });
const be16 = (value: number): number[] => [value >> 8, value & 0xff];
const le16 = (value: number): number[] => [value & 0xff, value >> 8];
const rest = Buffer.alloc(64);

function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(33);
  head.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}

/** Returns a JPEG with a preview of this many bytes before the size. */
function jpeg(width: number, height: number, preview = 0): Buffer {
  const segments = preview === 0 ? [] : [0xff, 0xe1, ...be16(preview + 2), ...Buffer.alloc(preview, 0xff)];
  return Buffer.from([
    0xff,
    0xd8,
    ...segments,
    0xff,
    0xdb,
    ...be16(4),
    1,
    2,
    0xff,
    0xc2,
    ...be16(17),
    8,
    ...be16(height),
    ...be16(width),
    3,
    ...rest,
  ]);
}

function webp(kind: string, payload: number[]): Buffer {
  return Buffer.concat([Buffer.from(`RIFF\0\0\0\0WEBP${kind}\0\0\0\0`, 'latin1'), Buffer.from(payload), rest]);
}

describe('the size of an image', () => {
  it.each<[string, Buffer, [number, number]]>([
    ['PNG', png(1920, 1080), [1920, 1080]],
    ['GIF', Buffer.concat([Buffer.from('GIF89a', 'latin1'), Buffer.from([...le16(320), ...le16(200)]), rest]), [320, 200]],
    ['JPEG', jpeg(4032, 3024), [4032, 3024]],
    ['JPEG with a preview before its size', jpeg(4032, 3024, 65_000), [4032, 3024]],
    ['lossy WebP', webp('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, ...le16(640), ...le16(480)]), [640, 480]],
    ['lossless WebP', webp('VP8L', [0x2f, ...le16((639 | (479 << 14)) & 0xffff), ...le16(479 >> 2)]), [640, 480]],
    ['extended WebP', webp('VP8X', [0, 0, 0, 0, 0x7f, 0x02, 0, 0xdf, 0x01, 0]), [640, 480]],
  ])('is read from the header of a %s', (_name, bytes, [width, height]) => {
    expect(imageSize(inline(bytes))).toEqual({ width, height });
  });

  it.each([Buffer.from(''), Buffer.from('<svg width="10"/>'.repeat(5)), jpeg(0, 0), Buffer.from([0xff, 0xd8, ...Buffer.alloc(60, 1)])])(
    'is unknown otherwise',
    (bytes) => {
      expect(imageSize(inline(bytes))).toBeUndefined();
    },
  );
});

describe('tokens of images', () => {
  const tokens = (model: string, width: number, height: number, detail = ''): number =>
    imageTokens(ImagePart.fromPartial({ source: { $case: 'data', value: inline(png(width, height)) }, detail }), model);

  // The last columns are what others measured, minus the tokens of the question (huggingface.co/datasets/JOHNISKING/image-token-cost).
  it.each([
    [256, 256, 100, 100, 77],
    [512, 512, 361, 361, 308],
    [1024, 1024, 1369, 1369, 1229],
    [1280, 720, 1196, 1196, 1104],
    [1920, 1080, 2691, 1560, 2448],
    [3840, 2160, 2992, 1592, 9792],
    [4032, 3024, 3928, 1596, 14_364],
  ])('of %i × %i pixels are close to what vendors were observed to count', (width, height, newer, older, patches) => {
    const isNear = (estimate: number, measured: number): void => {
      expect(estimate / measured).toBeGreaterThan(0.95);
      expect(estimate / measured).toBeLessThan(1.05);
    };
    isNear(tokens('claude-opus-5-5', width, height), newer);
    isNear(tokens('claude-haiku-4-5', width, height), older);
    if (patches < 12_000) isNear(tokens('gpt-5.5', width, height), patches);
  });

  it('of models that cut tiles follow the tiles', () => {
    expect(tokens('gpt-4o', 1024, 1024)).toBe(85 + 4 * 170);
    expect(tokens('gpt-4o', 2048, 4096)).toBe(85 + 6 * 170);
    expect(tokens('gpt-4o', 2048, 4096, 'low')).toBe(85);
  });

  it('that cannot be inspected count like a medium-sized one', () => {
    expect(imageTokens(ImagePart.fromPartial({ source: { $case: 'url', value: 'https://example.com/a.png' } }), 'claude-opus-5')).toBe(
      tokens('claude-opus-5', 1024, 1024),
    );
  });
});

describe('tokens of documents', () => {
  it('depend on the number of pages in the document, at either end of the file, otherwise on its size', () => {
    const tree = '1 0 obj << /Type /Pages /Kids [2 0 R] /Count 12 >> endobj ';
    const filler = Buffer.alloc(600_000, 0x20);
    expect(pagesOf(Buffer.from(`%PDF-1.7 ${tree}`).toString('base64'))).toBe(12);
    expect(pagesOf(Buffer.concat([filler, Buffer.from('<</Count 7/Kids[]/Type/Pages>>')]).toString('base64'))).toBe(7);
    expect(pagesOf(filler.toString('base64'))).toBe(12);
    expect(pagesOf('')).toBe(1);
  });

  it('count in messages and tool results, and not for documents of text', () => {
    const pdf = {
      part: {
        $case: 'document' as const,
        value: { source: { $case: 'data' as const, value: inline(Buffer.from('<</Count 2/Type/Pages>>'), 'application/pdf') } },
      },
    };
    const plain = { part: { $case: 'document' as const, value: { source: { $case: 'text' as const, value: 'x' } } } };
    const prompt = Prompt.fromPartial({
      messages: [{ parts: [pdf, plain, { part: { $case: 'toolResult', value: { content: [pdf] } } }] }],
    });
    expect(mediaTokens(prompt, 'claude-opus-5')).toBe(4 * 2300);
  });
});

describe('a meter', () => {
  const image = { part: { $case: 'image' as const, value: { source: { $case: 'data' as const, value: inline(png(1024, 1024)) } } } };

  it('estimates images before the vendor has counted, and never beyond what was held', async () => {
    const meter = (inputTokensMax: number) =>
      new Meter(textRequest('', { prompt: { messages: [{ parts: [image] }] }, inputTokensMax }), 'claude-opus-5', unknownRecipient);
    expect(meter(5000).soFar().usageSoFar?.inputTokens).toBe(1373);
    expect((await meter(5000).finish()).usage.inputTokens).toBe(1373);
    expect(meter(900).soFar().usageSoFar?.inputTokens).toBe(900);
    expect((await meter(900).finish()).usage.inputTokens).toBe(900);
  });

  it('counts the text of a delta without a common form, and not what it cites', () => {
    const meter = new Meter(textRequest('Hi'), 'm', unknownRecipient);
    const delta = (json: object) => ({
      event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'foreignJson' as const, value: JSON.stringify(json) } } },
    });
    meter.add([
      delta({ type: 'beam_delta', beam: 'x'.repeat(40) }),
      delta({ type: 'citations_delta', citation: { cited_text: 'y'.repeat(400) } }),
    ]);
    expect(meter.soFar().usageSoFar?.outputTokens).toBe(10);
  });
});
