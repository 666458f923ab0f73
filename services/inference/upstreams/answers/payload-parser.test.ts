import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { PayloadParser } from './payload-parser.js';

const chunk = (content: unknown, more: object = {}) => ({
  id: 'x',
  model: 'content',
  choices: [{ index: 0, delta: { content, ...more }, finish_reason: null }],
});
const numbered = (number: unknown, delta: unknown) => ({
  type: 'response.output_text.delta',
  sequence_number: number,
  item_id: 'm',
  delta,
  logprobs: [],
});
const delta = (text: unknown) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });

/** Returns what one parser makes of the payloads, one after another. */
function parsed(payloads: readonly string[]): unknown[] {
  const parser = new PayloadParser();
  return payloads.map((payload) => structuredClone(parser.parse(payload)));
}

describe('the payloads of a stream', () => {
  it.each([
    ['with another text', (text: string) => chunk(text)],
    ['with another text and number', (text: string, index: number) => numbered(index + 8, text)],
  ])('that repeat %s are parsed once', (_how, payload) => {
    const payloads = ['The', ' quick', ' "brown"', '\n', ' fox 🦊', ''].map((text, index) => JSON.stringify(payload(text, index)));
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
    ['a fraction', '{"sequence_number":3.5,"delta":{"text":"a"}}'],
    ['a negative number', '{"sequence_number":-3,"delta":{"text":"a"}}'],
    ['a number inside', '{"sequence_number":3,"delta":{"sequence_number":3,"text":"a"}}'],
    ['two numbers', '{"sequence_number":3,"sequence_number":4,"delta":{"text":"a"}}'],
    ['a large number', '{"sequence_number":98765432109876543210,"delta":{"text":"a"}}'],
    ['no number', '{"delta":{"text":"a"}}'],
  ])('may contain %s', (_what, odd) => {
    for (const number of ['', '"sequence_number":1,', '"a":{"sequence_number":1},']) {
      const payloads = [
        `{${number}"delta":{"text":"a"}}`,
        `{${number}"delta":{"text":"b"}}`,
        odd,
        `{${number}"delta":{"text":"c"}}`,
        odd,
        odd,
      ];
      expect(parsed(payloads)).toEqual(payloads.map((payload): unknown => JSON.parse(payload)));
    }
  });

  it.each(['01', '', '+1', '1 1', 'null,'])('are malformed if their number is %j', (number) => {
    const payloads = ['1', '2', number].map((each) => `{"sequence_number":${each},"delta":{"text":"a"}}`);
    expect(() => parsed(payloads)).toThrow(expect.objectContaining({ reason: 'upstream_failed' }));
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
      fc
        .tuple(fc.oneof(fc.nat(20), fc.double({ noNaN: true, noDefaultInfinity: true }), text), text)
        .map(([number, each]) => numbered(number, each)),
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
