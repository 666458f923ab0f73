import { expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { optional } from '../schemas/shapes.js';
import { bodyChecker } from './request.js';

const limits = Type.Object({ rpm: optional(Type.Integer()) });
const check = bodyChecker(
  Type.Object({
    name: Type.String(),
    limits: optional(limits),
    models: Type.Optional(Type.Array(Type.Object({ id: Type.String(), limits: optional(limits) }))),
    details: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
  'brackets',
);

it.each([
  [{ name: 'a', nmae: 'b' }, 'nmae', 'name, limits, models, details'],
  [{ name: 'a', limits: { requests_per_minute: 5 } }, 'limits.requests_per_minute', 'rpm'],
  [{ name: 'a', models: [{ id: 'x' }, { id: 'y', limits: { rmp: 5 } }] }, 'models[1].limits.rmp', 'rpm'],
])('rejects fields that no schema names, at any depth (%#)', (body, field, fields) => {
  expect(() => check(body)).toThrow(
    expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field, rule: 'unknown_field', fields }) }),
  );
});

it('accepts null in place of objects, and any field where the schema permits all', () => {
  const body = { name: 'a', limits: null, models: [{ id: 'x', limits: { rpm: null } }], details: { anything: { at: 'all' } } };
  expect(check(body)).toBe(body);
});
