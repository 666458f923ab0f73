// JSON Schemas in the form that those of answers take: objects with fields that are always there and others that may be, and cases by the value of a field.

export type JsonSchema = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, JsonSchema>>;

export const text = { type: 'string' };
export const filled = { type: 'string', minLength: 1 };
export const integer = { type: 'integer' };
export const count = { type: 'integer', minimum: 0 };
export const number = { type: 'number' };
export const boolean = { type: 'boolean' };
export const none = { type: 'null' };
export const anyObject = { type: 'object' };
export const anyArray = { type: 'array' };

/** What is no word of the vendor's, which `openWords` of ../answer-schemas.ts must not open. */
export const only = (value: unknown): JsonSchema => ({ const: value });
export const oneOf = (...words: readonly unknown[]): JsonSchema => ({ enum: words });
export const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

export function nullable(schema: JsonSchema): JsonSchema {
  return 'properties' in schema ? { anyOf: [none, schema] } : { ...schema, type: [schema['type'], 'null'] };
}

/** An object that has the first fields, may have the second ones, and any others. */
export function object(fields: Fields, optional: Fields = {}): JsonSchema {
  return { type: 'object', required: Object.keys(fields), properties: { ...fields, ...optional } };
}

/** What else holds, by the value of a field. */
export function by(field: string, cases: Fields): JsonSchema[] {
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  return Object.entries(cases).map(([value, then]) => ({ if: { required: [field], properties: { [field]: only(value) } }, then }));
}

/** An object whose other fields depend on the value of one field. */
export function variants(field: string, cases: Fields, fields: Fields = {}, optional: Fields = {}): JsonSchema {
  return { ...object({ [field]: oneOf(...Object.keys(cases)), ...fields }, optional), allOf: by(field, cases) };
}
