// Builds, from the user's text, a value that a JSON Schema accepts. Pure.
import { unescape } from 'node:querystring';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

/** Maximum number of properties filled in per object. */
const propertiesMax = 20;

const textCharsMax = 200;
/** Beyond this depth a value is the smallest that its type allows, so that a recursive schema terminates. */
const depthMax = 6;
const itemsMax = 20;
/** Maximum number of nested values; a schema that refers to itself many times would otherwise not terminate in practice. */
export const valuesMax = 5000;

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'user@example.com',
  hostname: 'example.com',
  uri: 'https://example.com/',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

/** Returns a value that the schema accepts as far as its types, references and bounds go; patterns and conditions are ignored. */
export function valueFor(schema: unknown, text: string): unknown {
  return new ValueBuilder(schema, text).value(schema, 0);
}

class ValueBuilder {
  #values = 0;

  constructor(
    private readonly root: unknown,
    private readonly text: string,
  ) {}

  value(schema: unknown, depth: number): unknown {
    this.#values += 1;
    if (this.#values > valuesMax) return null;
    if (!isObject(schema)) return this.text.slice(0, textCharsMax);
    if (schema['const'] !== undefined) return schema['const'];
    if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return schema['enum'][0] as unknown;
    const other =
      depth > depthMax ? undefined : (this.referred(schema['$ref']) ?? firstOf(schema['anyOf'], depth) ?? firstOf(schema['oneOf'], depth));
    if (other !== undefined) return this.value(other, depth + 1);
    if (Array.isArray(schema['allOf'])) return this.value(joined(schema), depth + 1);
    return this.#ofType(typeOf(schema, depth), schema, depth);
  }

  #ofType(type: unknown, schema: JsonObject, depth: number): unknown {
    switch (type) {
      case 'number':
      case 'integer':
        return bounded(Number(/\d{1,9}/.exec(this.text)?.[0] ?? 1), schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      case 'array':
        return this.#array(schema, depth);
      case 'object':
        return this.#object(schema, depth);
      default:
        return this.#string(schema);
    }
  }

  #array({ items, minItems }: JsonObject, depth: number): unknown[] {
    const least = typeof minItems === 'number' ? Math.min(minItems, itemsMax) : 0;
    return Array.from({ length: depth > depthMax ? least : Math.max(least, items === undefined ? 0 : 1) }, () =>
      this.value(items, depth + 1),
    );
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const required = Array.isArray(schema['required']) ? schema['required'].filter((name) => typeof name === 'string') : [];
    const names = required.length > 0 || depth > depthMax ? required : Object.keys(properties);
    // All required properties are filled in, however many there are; the others are bounded.
    const kept = required.length > 0 ? names : names.slice(0, propertiesMax);
    return Object.fromEntries(kept.map((name) => [name, this.value(properties[name], depth + 1)]));
  }

  #string({ format, minLength, maxLength }: JsonObject): string {
    if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format]!;
    const most = typeof maxLength === 'number' ? Math.min(maxLength, textCharsMax) : textCharsMax;
    const least = typeof minLength === 'number' ? Math.min(minLength, textCharsMax) : 0;
    return this.text.slice(0, most).padEnd(least, 'x');
  }

  /** Returns the schema at a reference within the root. */
  referred(reference: unknown): unknown {
    if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
    // Unlike decodeURIComponent, unescape keeps a malformed escape as it is.
    const names = reference
      .slice(1)
      .split('/')
      .slice(1)
      .map((name) => unescape(name).replaceAll('~1', '/').replaceAll('~0', '~'));
    let found: unknown = this.root;
    for (const name of names) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    return found;
  }
}

/** Returns the first alternative or, deep down, the one that ends soonest. */
function firstOf(list: unknown, depth: number): unknown {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const plain =
    depth < depthMax - 1
      ? undefined
      : list.find((each) => isObject(each) && ['null', 'string', 'number', 'integer', 'boolean'].includes(each['type'] as string));
  return plain ?? (list[0] as unknown);
}

/** Merges the parts of an `allOf` into one schema. */
function joined({ allOf, ...rest }: JsonObject): JsonObject {
  const parts = [rest, ...(allOf as unknown[]).filter(isObject)];
  const properties = Object.assign({}, ...parts.map((part) => part['properties'])) as JsonObject;
  const required = parts.flatMap((part): unknown[] => (Array.isArray(part['required']) ? part['required'] : []));
  return {
    ...(Object.assign({}, ...parts) as JsonObject),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function typeOf(schema: JsonObject, depth: number): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return depth > depthMax && type.includes('null') ? 'null' : type[0];
  return type ?? (schema['properties'] === undefined ? (schema['items'] === undefined ? undefined : 'array') : 'object');
}

function bounded(number: number, { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject): number {
  const bound = (value: unknown, step: number): number | undefined => (typeof value === 'number' ? value + step : undefined);
  const step = type === 'integer' ? 1 : 1e-6;
  const least = Math.max(bound(minimum, 0) ?? -Infinity, bound(exclusiveMinimum, step) ?? -Infinity);
  const most = Math.min(bound(maximum, 0) ?? Infinity, bound(exclusiveMaximum, -step) ?? Infinity);
  const within = Math.max(least, Math.min(most, number));
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return within;
  const down = Math.floor(within / multipleOf) * multipleOf;
  return down < least ? down + multipleOf : down;
}
