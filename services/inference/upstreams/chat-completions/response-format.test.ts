import { describe, expect, it } from '@jest/globals';
import { GenerateRequest } from '#proto/inference/v1/inference.js';
import { isStrictSchema } from './response-format.js';
import { chatCompletionsBody } from './request.js';

type Format = Parameters<typeof GenerateRequest.fromPartial>[0]['responseFormat'];
const formatOf = (responseFormat: Format): unknown =>
  (
    JSON.parse(
      chatCompletionsBody(GenerateRequest.fromPartial({ prompt: {}, maxOutputTokens: 9, responseFormat }), 'm', { isOpenAi: false }).json,
    ) as Record<string, unknown>
  )['response_format'];
const jsonSchema = (schema: unknown, rest: object = {}): Format => ({
  format: { $case: 'jsonSchema', value: { schemaJson: JSON.stringify(schema), ...rest } },
});

const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const open = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'], additionalProperties: false };

describe('the form of an answer', () => {
  it('is free text, any JSON object, or a schema with a name', () => {
    expect(formatOf(undefined)).toBeUndefined();
    expect(formatOf({ format: { $case: 'jsonObject', value: {} } })).toEqual({ type: 'json_object' });
    expect(formatOf(jsonSchema(closed))).toEqual({ type: 'json_schema', json_schema: { name: 'output', schema: closed, strict: true } });
    expect(formatOf(jsonSchema(closed, { name: 'n', description: 'd', strict: false }))).toEqual({
      type: 'json_schema',
      json_schema: { name: 'n', description: 'd', schema: closed, strict: false },
    });
  });

  it('is strict only where the schema keeps the rules of that mode', () => {
    expect(formatOf(jsonSchema(open, { strict: true }))).toMatchObject({ json_schema: { strict: false } });
  });

  it('is refused when it is not JSON', () => {
    expect(() => formatOf({ format: { $case: 'jsonSchema', value: { schemaJson: '{' } } })).toThrow('not JSON');
  });

  it.each<[string, unknown, boolean]>([
    ['closed, all required', closed, true],
    ['an optional property', open, false],
    ['not closed', { type: 'object', properties: {} }, false],
    ['closed, without properties', { type: 'object', additionalProperties: false }, true],
    ['an open object in a list', { ...closed, properties: { a: { type: 'array', items: { type: 'object', properties: {} } } } }, false],
    [
      'an open object among alternatives',
      { ...closed, properties: { a: { anyOf: [{ type: 'null' }, { type: ['object', 'null'], properties: {} }] } } },
      false,
    ],
    ['an open object among the definitions', { ...closed, $defs: { d: { properties: {} } } }, false],
    ['closed all the way down', { ...closed, properties: { a: { anyOf: [{ type: 'null' }, closed] } }, $defs: { d: closed } }, true],
    ['a list outside', { type: 'array', items: closed }, false],
    ['alternatives outside', { ...closed, anyOf: [closed] }, false],
    ['no object at all', true, false],
  ])('strict mode and a schema that is %s', (_what, schema, isStrict) => {
    expect(isStrictSchema(schema)).toBe(isStrict);
  });
});
