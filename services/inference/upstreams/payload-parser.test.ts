import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { PayloadParser } from './payload-parser.js';

const chunk = (content: unknown, more: object = {}) => ({
  id: 'x',
  model: 'content',
  choices: [{ index: 0, delta: { content, ...more }, finish_reason: null }],
});
const delta = (text: unknown) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });

/** Returns what one parser makes of the payloads, one after another. */
function parsed(payloads: readonly string[]): unknown[] {
  const parser = new PayloadParser();
  return payloads.map((payload) => structuredClone(parser.parse(payload)));
}

describe('the payloads of a stream', () => {
  it('that repeat with another text are parsed once', () => {
    const payloads = ['The', ' quick', ' "brown"', '\n', ' fox 🦊', ''].map((text) => JSON.stringify(chunk(text)));
    const parser = new PayloadParser();
    payloads.slice(0, 2).forEach((payload) => parser.parse(payload));
    const parse = jest.spyOn(JSON, 'parse');
    try {
      for (const payload of payloads.slice(2)) parser.parse(payload);
      expect(parse.mock.calls.filter(([text]) => text.startsWith('{'))).toEqual([]);
    } finally {
      parse.mockRestore();
    }
    expect(parsed(payloads)).toEqual(payloads.map((payload): unknown => JSON.parse(payload)));
  });

  it.each([
    ['a text that ends early', '{"delta":{"text":"a","index":1,"text":"b"}}'],
    ['two fields where one was', '{"delta":{"text":"a"},"more":{"text":"b"}}'],
    ['another form of the same text', '{"delta":{"text":"\\u0061"}}'],
    ['a half escape', '{"delta":{"text":"\\ud83e"}}'],
    ['null in place of a text', '{"delta":{"text":null}}'],
    ['an empty object', '{}'],
  ])('may contain %s', (_what, odd) => {
    const payloads = ['{"delta":{"text":"a"}}', '{"delta":{"text":"b"}}', odd, '{"delta":{"text":"c"}}', odd];
    expect(parsed(payloads)).toEqual(payloads.map((payload): unknown => JSON.parse(payload)));
  });

  it.each(['{"delta":{"text":"a\nb"}}', '{"delta":{"text":"\\x"}}', '{"delta":{"text":"\\"}}', '{"delta":{"text":"a"}', '[]', 'null'])(
    'are malformed after well-formed ones: %j',
    (malformed) => {
      expect(() => parsed(['{"delta":{"text":"a"}}', '{"delta":{"text":"b"}}', malformed])).toThrow(
        expect.objectContaining({ reason: 'upstream_failed' }),
      );
    },
  );

  it('are what JSON.parse returns, whatever they are', () => {
    // Few words, so that texts repeat, contain each other and equal names of fields.
    const text = fc.oneof(fc.constantFrom('', 'a', 'content', '"content":"a"', '\\', 'tollgate-text', '{}'), fc.string());
    const payload = fc.oneof(
      text.map((each) => chunk(each)),
      fc.tuple(text, text).map(([content, reasoning]) => chunk(content, { reasoning })),
      text.map(delta),
      fc.jsonValue().map((value) => ({ content: value })),
      fc.record({ content: text, choices: fc.array(text.map(delta), { maxLength: 2 }) }),
    );
    const print = fc.constantFrom(JSON.stringify, (value: unknown) => JSON.stringify(value, null, 1));
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 12 }), print, (values, json) => {
        const payloads = values.map((value) => json(value));
        expect(parsed(payloads)).toEqual(payloads.map((each): unknown => JSON.parse(each)));
      }),
    );
  });
});
