// The rules for JSON Schemas of tools and of structured answers.
import { anyObject, insist, isJson, type Json } from './check.js';

/** Checks a schema of a tool's arguments that the vendor does not enforce. */
export function checkParameters(value: unknown, path: string): void {
  const schema = anyObject(value, path);
  insist(schema['type'] === 'object', `${path}.type: Input should be 'object'`, path);
  walk(schema, path, (inner, at) =>
    insist(inner['type'] !== 'array' || inner['items'] !== undefined, `${at}: array schema missing items`, path),
  );
}

/** Checks a schema that the vendor enforces: every object must be closed and, with `allRequired` (OpenAI), list all its properties as required. */
export function checkStrictSchema(value: unknown, path: string, allRequired: boolean): void {
  const schema = anyObject(value, path);
  if (allRequired) insist(schema['type'] === 'object', `${path}: schema must be a JSON Schema of 'type: "object"'`, path);
  walk(schema, path, (inner, at) => {
    if (inner['type'] !== 'object') return;
    insist(
      inner['additionalProperties'] === false,
      `${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`,
      path,
    );
    if (!allRequired) return;
    const required = Array.isArray(inner['required']) ? inner['required'] : [];
    const missing = Object.keys((inner['properties'] ?? {}) as Json).filter((name) => !required.includes(name));
    insist(
      missing.length === 0,
      `${at}: 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing[0]}'.`,
      path,
    );
  });
}

const maps = ['properties', '$defs', 'definitions'];
const lists = ['anyOf', 'allOf', 'oneOf'];

function walk(value: unknown, path: string, visit: (schema: Json, path: string) => void): void {
  if (!isJson(value)) return;
  visit(value, path);
  for (const key of maps) {
    if (isJson(value[key])) for (const [name, inner] of Object.entries(value[key])) walk(inner, `${path}.${key}.${name}`, visit);
  }
  for (const key of lists) {
    if (Array.isArray(value[key]))
      for (const [index, inner] of (value[key] as unknown[]).entries()) walk(inner, `${path}.${key}.${index}`, visit);
  }
  walk(value['items'], `${path}.items`, visit);
}
