import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { depthMax, fieldsMax, objectFieldsMax, outlineOf, topFieldsMax, trusted, valuesMax } from './json-outline.js';

function nested(levels: number): string {
  return '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
}

describe('the shape of a body', () => {
  it('has a maximum nesting depth', () => {
    expect(() => outlineOf(nested(depthMax))).not.toThrow();
    expect(() => outlineOf(nested(depthMax + 2))).toThrow(expect.objectContaining({ reason: 'invalid_request' }));
    expect(() => outlineOf(nested(400_000))).toThrow('nested more than 256 levels');
  });

  it('has a maximum number of values', () => {
    const lists = (count: number): string =>
      JSON.stringify([Array.from({ length: count / 2 }, () => 'x'), Array.from({ length: count / 2 - 2 }, () => 1)]);
    expect(() => outlineOf(lists(valuesMax))).not.toThrow();
    expect(() => outlineOf(lists(valuesMax + 2))).toThrow('more than 1000000 values');
  });

  const objectOf = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

  it('has a maximum number of fields', () => {
    expect(() => outlineOf(JSON.stringify(objectOf(topFieldsMax)))).not.toThrow();
    expect(() => outlineOf(JSON.stringify(objectOf(topFieldsMax + 1)))).toThrow('The body has more than 256 fields;');
  });

  it('has a maximum number of fields in each object in it', () => {
    const body = (count: number): string => JSON.stringify({ messages: [objectOf(9), objectOf(count), objectOf(9)], model: 'm' });
    expect(() => outlineOf(body(objectFieldsMax))).not.toThrow();
    expect(() => outlineOf(body(objectFieldsMax + 1))).toThrow(
      expect.objectContaining({ message: expect.stringContaining('more than 4096 fields'), details: { field: 'messages' } }),
    );
  });

  it('has a maximum number of fields in all objects', () => {
    const body = (count: number): string => JSON.stringify(Array.from({ length: count / 2 }, () => ({ role: 'user', content: '' })));
    expect(() => outlineOf(body(fieldsMax))).not.toThrow();
    expect(() => outlineOf(body(fieldsMax + 2))).toThrow('more than 100000 fields');
  });
});

describe('the fields of a body', () => {
  const fieldsOf = (json: string) => trusted(outlineOf(json), JSON.parse(json))?.fields;

  it('are found in the text as they were written', () => {
    const json = '{ "model" : "m", "messages":[{"content":"a \\"b\\", {\\\\" }] ,"n":1.0,"stop":null }';
    expect(Object.fromEntries(fieldsOf(json)!)).toEqual({
      model: ' "m"',
      messages: '[{"content":"a \\"b\\", {\\\\" }] ',
      n: '1.0',
      stop: 'null ',
    });
  });

  it.each([
    '{"model":"a","model":"b"}',
    '{"messages":[{"role":"user","content":"long","content":"short"}]}',
    '{"mod\\u0065l":"a"}',
    '{"a":{"b\\/c":1}}',
  ])('are not taken from a text that other parsers may read differently: %s', (json) => {
    expect(fieldsOf(json)).toBeUndefined();
  });

  it('parse to the fields of the parsed body, whatever it is', () => {
    const space = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), space, (body, indent) => {
        const json = JSON.stringify(body, null, indent);
        const fields = fieldsOf(json);
        if (fields === undefined) return expect(JSON.stringify(body)).toContain('\\');
        expect(Object.fromEntries([...fields].map(([name, text]) => [name, JSON.parse(text) as unknown]))).toEqual(JSON.parse(json));
      }),
    );
  });

  it('include each of the messages', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.jsonValue(), fc.constantFrom(undefined, 1), (messages, other, indent) => {
        const outline = outlineOf(JSON.stringify({ other, messages, more: [other] }, null, indent));
        expect(outline.lists.get('messages')!.flatMap((text) => (text.trim() === '' ? [] : [JSON.parse(text) as unknown]))).toEqual(
          JSON.parse(JSON.stringify(messages)),
        );
      }),
    );
  });

  it('are read from malformed texts without an error', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[{}[\]":,\\a]*$/)), (text) => void outlineOf(text)));
  });
});

it('knows whether a number may lose digits, wherever it is', () => {
  for (const number of ['1199137541837586493', '-9007199254740993', ' 1199137541837586493\n'])
    for (const json of [`{"a":${number}}`, `{"a":[1,${number}]}`, `[${number},1]`, `{"a":${number},"b":"c"}`])
      expect([json, outlineOf(json).hasLongNumbers]).toEqual([json, true]);
  const plain =
    '{"a":123456789012345,"b":"1199137541837586493","c":                   7,"d":0.1234567890123456789,"e":[1,2,3,4,5,6,7,8,9,10,11,12]}';
  expect(outlineOf(plain).hasLongNumbers).toBe(false);
});

describe('the length of a prompt', () => {
  it('counts texts, and not images and files', () => {
    const media = 'A'.repeat(5000);
    const body = (content: unknown) => JSON.stringify({ messages: [{ role: 'user', content }] });
    const { length } = body('');
    expect(outlineOf(body(media)).promptChars).toBe(length + 5000);
    for (const part of [{ source: { data: media } }, { image_url: { url: media } }, { file: { file_data: media } }]) {
      expect(outlineOf(body([part])).promptChars).toBeLessThan(200);
    }
  });
});
