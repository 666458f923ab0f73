import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { GenerateRequest, StopReason } from '#proto/inference/v1/inference.js';
import { textRequest } from '../../testing/fixtures.js';
import { planAnswer } from './plan.js';
import { valueFor, valuesMax } from './schema-value.js';

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: ['integer', 'null'], minimum: 18 } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const tree = {
  $defs: {
    node: {
      type: 'object',
      properties: { label: { type: 'string' }, child: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['label', 'child'],
    },
  },
  $ref: '#/$defs/node',
};

describe('a value made for a schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });

  it.each<[string, object | boolean]>([
    ['closed objects', person],
    [
      'nested ones',
      {
        type: 'object',
        properties: { users: { type: 'array', items: person, minItems: 2 }, by: person },
        required: ['users', 'by'],
        additionalProperties: false,
      },
    ],
    ['a list', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }],
    ['a plain number', { type: 'number', exclusiveMinimum: 50, maximum: 60, multipleOf: 5 }],
    ['a long text', { type: 'string', minLength: 30 }],
    ['a short text', { type: 'string', maxLength: 3 }],
    ['a constant', { const: { x: 1 } }],
    ['alternatives', { oneOf: [{ type: 'boolean' }, { type: 'string' }] }],
    [
      'parts',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
          { properties: { b: { type: 'boolean' } }, required: ['b'] },
        ],
      },
    ],
    ['nothing', { type: 'null' }],
    ['a schema that contains itself', tree],
    ['anything', true],
  ])('fits %s', (_name, schema) => {
    const value = valueFor(schema, 'Ada is 36 years old.');
    expect(ajv.validate(schema, JSON.parse(JSON.stringify(value)))).toBe(true);
  });

  it('ignores a reference that is malformed', () => {
    expect(valueFor({ $ref: '#/%', type: 'integer' }, 'Ada is 36 years old.')).toBe(36);
  });

  it('has an end, however often a schema contains itself', () => {
    const names = Array.from({ length: 50 }, (_, index) => `p${index}`);
    const endless = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])), required: names };
    const json = JSON.stringify(valueFor(endless, ''));
    expect(json.split('"p').length).toBeGreaterThan(1000);
    expect(json.length).toBeLessThan(20 * valuesMax * 5);
  });
});

describe('an answer of the sandbox', () => {
  const answered = (model: string, rest: Parameters<typeof textRequest>[1]) => {
    const plan = planAnswer(model, textRequest('Ada is 36 years old.', rest));
    return { ...plan, texts: plan.blocks.filter(({ block }) => block.$case === 'text').map(({ tokens }) => tokens.join('')) };
  };
  const schema = GenerateRequest.fromPartial({
    responseFormat: { format: { $case: 'jsonSchema', value: { schemaJson: JSON.stringify(person) } } },
  }).responseFormat;

  it('is JSON if requested, and follows the schema if there is one', () => {
    expect(answered('echo', { responseFormat: schema }).texts).toEqual(['{"name":"Ada is 36 years old.","age":36}']);
    expect(answered('echo', { responseFormat: { format: { $case: 'jsonObject', value: {} } } }).texts).toEqual([
      '{"text":"Ada is 36 years old."}',
    ]);
    expect(answered('reason', { responseFormat: schema }).texts).toEqual(['{"name":"On reflection: Ada is 36 years old.","age":36}']);
  });

  it('is cut at the cap like any other', () => {
    const cut = answered('echo', { responseFormat: schema, maxOutputTokens: 5 });
    expect(cut).toMatchObject({ stopReason: StopReason.STOP_REASON_MAX_TOKENS, texts: ['{"name":'] });
  });
});
