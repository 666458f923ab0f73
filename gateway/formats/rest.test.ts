import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { filled, type JsonObject, mergeInto, oneLine, parseObject } from './rest.js';

function merge(texts: 'pieces' | 'whole', ...parts: JsonObject[]): JsonObject {
  const all: JsonObject = {};
  for (const part of parts) mergeInto(all, structuredClone(part), texts);
  return all;
}

const name = fc.string().filter((text) => text !== '__proto__');
const objects = fc.dictionary(name, fc.jsonValue({ maxDepth: 3 })).map((object) => JSON.parse(JSON.stringify(object)) as JsonObject);

describe('pieces of a rest', () => {
  it('are merged: lists joined, objects merged, texts joined, anything else replaced', () => {
    expect(
      merge(
        'pieces',
        { a: 'x', list: [1], object: { b: 1, t: 'p' }, flag: true },
        { a: 'y', list: [2], object: { c: 2, t: 'q' }, flag: false },
      ),
    ).toEqual({
      a: 'xy',
      list: [1, 2],
      object: { b: 1, c: 2, t: 'pq' },
      flag: false,
    });
  });

  it('replace complete texts, and labels', () => {
    expect(merge('whole', { tier: 'a' }, { tier: 'b' })).toEqual({ tier: 'b' });
    expect(merge('pieces', { id: 'x', type: 't' }, { id: 'x', type: 't' })).toEqual({ id: 'x', type: 't' });
  });

  it('are pieces of one list item when they have its index', () => {
    const first = {
      details: [
        { index: 0, type: 'text', text: 'a' },
        { index: 1, text: 'b' },
      ],
    };
    expect(merge('pieces', first, { details: [{ index: 1, text: 'c' }] })).toEqual({
      details: [
        { index: 0, type: 'text', text: 'a' },
        { index: 1, text: 'bc' },
      ],
    });
    expect(merge('whole', { list: [{ index: 0 }] }, { list: [{ index: 0 }] })).toEqual({ list: [{ index: 0 }, { index: 0 }] });
  });

  it('are not erased by a null', () => {
    expect(merge('whole', { content: [1] }, { content: null }, { content: [2] })).toEqual({ content: [1, 2] });
    expect(merge('whole', { content: null })).toEqual({ content: null });
  });

  it('give the same result in whatever groups they are merged', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ text: fc.string(), list: fc.array(fc.nat()), at: fc.record({ n: fc.nat() }) }), {
          minLength: 2,
          maxLength: 5,
        }),
        fc.nat(),
        (parts, at) => {
          const cut = 1 + (at % (parts.length - 1));
          const halves = [merge('pieces', ...parts.slice(0, cut)), merge('pieces', ...parts.slice(cut))];
          expect(merge('pieces', ...halves)).toEqual(merge('pieces', ...parts));
        },
      ),
    );
  });

  it('never reach a prototype', () => {
    merge(
      'pieces',
      parseObject('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
      parseObject('{"constructor":{"prototype":{"polluted":2}}}'),
    );
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('a filled object', () => {
  it('has all fields of both, and ours where both have one', () => {
    expect(filled({ a: 1, b: null, deep: { x: 1 } }, { a: 2, b: 3, c: 4, deep: { x: 2, y: 5 } })).toEqual({
      a: 1,
      b: 3,
      c: 4,
      deep: { x: 1, y: 5 },
    });
    fc.assert(fc.property(objects, (ours) => expect(filled(ours, {})).toEqual(ours)));
    fc.assert(fc.property(objects, (rest) => expect(filled({}, rest)).toEqual(rest)));
  });
});

it('is put on one line without change', () => {
  fc.assert(fc.property(objects, (object) => expect(JSON.parse(oneLine(JSON.stringify(object, null, 2)))).toEqual(object)));
});
