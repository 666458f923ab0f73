import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { AppError } from '#client/errors/app-error.js';
import { bodyReader, pathText } from './body-reader.js';
import { DroppedFields, elseUnsupported, ignored, optional, refused } from './fields.js';

const Circle = Type.Object({ kind: Type.Literal('circle'), radius: Type.Number({ minimum: 0 }) });
const Square = Type.Object({ kind: Type.Literal('square'), side: Type.Number() });
const Drawing = Type.Object({
  title: Type.String({ minLength: 1 }),
  shapes: Type.Array(Type.Union([Circle, Square]), { minItems: 1, maxItems: 3 }),
  size: optional(Type.Enum(['small', 'large'])),
  paper: optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  mode: optional(Type.Literal('flat', elseUnsupported('only flat drawings; leave it out'))),
  ...refused({ sound: 'drawings are silent; leave it out' }),
  ...ignored('color'),
});
const read = bodyReader(Drawing, 'brackets');
const valid = { title: 'a', shapes: [{ kind: 'circle', radius: 1 }] };

function faultOf(body: unknown): string {
  try {
    read(body);
  } catch (error) {
    if (error instanceof AppError) return `${error.reason} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe('reading a body', () => {
  it('returns a valid body as it is, unknown fields included', () => {
    const body = { ...valid, size: null, sound: null, color: 7, unknown: true };
    expect(read(body)).toBe(body);
  });

  it.each<[string, unknown, string]>([
    ['a value that is not an object', 'text', 'invalid_request body: must be an object'],
    ['a missing field', { shapes: valid.shapes }, 'invalid_request title: Field required'],
    ['a wrong type', { ...valid, title: 1 }, 'invalid_request title: must be a string'],
    ['an empty text', { ...valid, title: '' }, 'invalid_request title: must not be empty'],
    ['no items', { ...valid, shapes: [] }, 'invalid_request shapes: must not be empty'],
    ['a word that is not in the list', { ...valid, size: 'huge' }, 'invalid_request size: must be one of small, large'],
    ['neither of two types', { ...valid, paper: 1 }, 'invalid_request paper: must be a string or an array'],
    [
      'a fault in the intended branch',
      { ...valid, shapes: [valid.shapes[0], { kind: 'square', side: 'x' }] },
      'invalid_request shapes[1].side: must be a number',
    ],
    ['no known branch', { ...valid, shapes: [{ kind: 'star' }] }, 'invalid_request shapes[0].kind: "star" is not one of circle, square'],
    ['no tag', { ...valid, shapes: [{ radius: 1 }] }, 'invalid_request shapes[0].kind: Field required'],
    ['an unsupported value', { ...valid, mode: 'deep' }, 'unsupported_field mode: only flat drawings; leave it out'],
    ['an unsupported field', { ...valid, sound: {} }, 'unsupported_field sound: drawings are silent; leave it out'],
  ])('names one fault and its place for %s', (_what, body, expected) => {
    expect(faultOf(body)).toBe(expected);
  });

  it('describes the form of a text in words if the schema has a description', () => {
    const Bill = Type.Object({ usd: Type.String({ pattern: '^\\d+$', description: 'Whole USD, for example "5".' }) });
    expect(() => bodyReader(Bill, 'dots')({ usd: 'five' })).toThrow('usd: must be whole USD, for example "5"');
    expect(() => bodyReader(Bill, 'dots')({ usd: 5 })).toThrow('usd: must be a string');
  });

  it('finds the one fault of a long body quickly', () => {
    const Long = Type.Object({ items: Type.Array(Type.Union([Circle, Square])) });
    const items = Array.from({ length: 200_000 }, (_, index) => ({ kind: 'circle', radius: index === 199_999 ? -1 : 1 }));
    expect(() => bodyReader(Long, 'dots')({ items })).toThrow('items.199999.radius: must be at least 0');
  });

  it('writes paths as the format does', () => {
    expect(pathText(['messages', 0, 'content', 2, 'text'], 'brackets')).toBe('messages[0].content[2].text');
    expect(pathText(['messages', 0, 'content', 2, 'text'], 'dots')).toBe('messages.0.content.2.text');
  });
});

describe('dropped fields', () => {
  it('are listed once each', () => {
    const dropped = new DroppedFields();
    for (const name of ['color', 'unknown', 'color']) dropped.add(name);
    expect(dropped.names).toEqual(['color', 'unknown']);
  });

  it('are safe in a header, whatever their names and number', () => {
    const dropped = new DroppedFields();
    for (const name of ['a\r\nset-cookie: b', 'ä', '', 'x'.repeat(65)]) dropped.add(name);
    for (let index = 0; index < 100; index += 1) dropped.add(`field${index}`);
    expect(dropped.names).toHaveLength(32);
    expect(dropped.names[0]).toBe('field0');
  });
});
