import { describe, expect, it } from '@jest/globals';
import { decodeUtf8, encodeUtf8, utf8Length } from './utf8.js';

const texts = [
  '',
  'short: é',
  'plain '.repeat(1000),
  'ü€😀\ud800'.repeat(1000),
  '€'.repeat(349_525),
  '€'.repeat(349_526),
  'x'.repeat(3_000_000),
];

describe('UTF-8', () => {
  it.each(texts)('encodes and measures texts of every length (%#)', (text) => {
    const bytes = Buffer.from(text);
    expect(encodeUtf8(text).equals(bytes)).toBe(true);
    expect(utf8Length(text)).toBe(bytes.length);
  });

  it.each(texts)('decodes chunks that split characters (%#)', (text) => {
    const bytes = Buffer.from(text);
    for (const cut of [0, 1, 1001, bytes.length - 1]) {
      const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(decodeUtf8(chunks, bytes.length) === bytes.toString()).toBe(true);
    }
    expect(decodeUtf8([bytes], bytes.length) === bytes.toString()).toBe(true);
  });

  it('returns bytes that a later text does not change', () => {
    const first = encodeUtf8('a'.repeat(5000));
    encodeUtf8('b'.repeat(5000));
    expect(first.equals(Buffer.alloc(5000, 'a'))).toBe(true);
  });

  it('rejects bytes that are not UTF-8', () => {
    expect(() => decodeUtf8([Buffer.from([0x61]), Buffer.from([0xff])], 2)).toThrow();
    expect(decodeUtf8([], 0)).toBe('');
  });
});
