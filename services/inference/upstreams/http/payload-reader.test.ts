import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { decodedBody } from './decoded-body.js';
import { payloadReader } from './payload-reader.js';

const bytes = (text: string) => Buffer.from(text);

describe('the body of an answer', () => {
  it.each(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream', 'text/plain', 'application/octet-stream', ''])(
    'of type "%s" is read as events',
    (type) => {
      expect(payloadReader({ 'content-type': type }, 1000).push(bytes('data: {"a":1}\n\ndata: 2\n\n'))).toEqual(['{"a":1}', '2']);
    },
  );

  it.each(['application/json', 'application/json; charset=utf-8', 'application/problem+json'])(
    'of type "%s" is one payload, however it is cut',
    (type) => {
      const reader = payloadReader({ 'content-type': type }, 1000);
      const whole = bytes('{"a":"ü"}');
      for (const byte of whole) expect(reader.push(Uint8Array.of(byte))).toEqual([]);
      expect(reader.end()).toEqual(['{"a":"ü"}']);
      expect(() => payloadReader({ 'content-type': type }, 8).push(whole)).toThrow('beyond the size limit');
    },
  );

  it('that is a page is a failure', () => {
    expect(() => payloadReader({ 'content-type': 'text/html' }, 1000)).toThrow('neither JSON nor an event stream');
  });

  it.each([
    ['gzip', gzipSync('Grüße')],
    ['X-GZIP', gzipSync('Grüße')],
    ['deflate', deflateSync('Grüße')],
    ['br', brotliCompressSync('Grüße')],
    ['zstd', zstdCompressSync('Grüße')],
    ['identity', bytes('Grüße')],
    [undefined, bytes('Grüße')],
  ])('in %s is read all the same', async (encoding, compressed) => {
    const pieces = Array.from(compressed, (byte) => Uint8Array.of(byte));
    expect(await textOf(decodedBody(Readable.from(pieces, { objectMode: false }), encoding))).toBe('Grüße');
  });

  it('in an unknown encoding, or broken in a known one, is a failure', async () => {
    expect(() => decodedBody(Readable.from([bytes('x')]), 'rot13')).toThrow('cannot be read');
    await expect(textOf(decodedBody(Readable.from([bytes('this is not gzip')]), 'gzip'))).rejects.toThrow('header');
  });

  it('is passed on as it arrives, even when it is compressed', async () => {
    const gzip = createGzip();
    const reader = decodedBody(gzip, 'gzip')[Symbol.asyncIterator]();
    gzip.write('first');
    gzip.flush();
    expect(Buffer.from((await reader.next()).value!).toString()).toBe('first');
    gzip.end('second');
    expect(Buffer.from((await reader.next()).value!).toString()).toBe('second');
    expect((await reader.next()).done).toBe(true);
  });

  it('fails for its reader when its source fails', async () => {
    const source = new Readable({ read() {} });
    source.push(gzipSync('x').subarray(0, 5));
    const read = textOf(decodedBody(source, 'gzip'));
    source.destroy(new Error('connection lost'));
    await expect(read).rejects.toThrow('connection lost');
  });
});
