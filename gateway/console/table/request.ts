// Reads the input of an operation: query parameters, body and Idempotency-Key, each validated with its schema.
import type { Context } from 'koa';
import { type TObject, type TSchema, Type } from 'typebox';
import { fieldFault } from '#client/errors/fault.js';
import { bodyReader, type Path, type PathStyle, pathText } from '../../formats/requests/body-reader.js';
import { readJson } from '../../http/middleware/json-body.js';
import { Limit, parameter } from '../schemas/shapes.js';
import type { Call, Operation } from './operation.js';

/** Larger than any valid body of the console. */
const bodyBytesMax = 64 * 1024;
const idempotencyKeyCharsMax = 128;
const pageSizeDefault = 50;

/** The parameters of lists. */
const paging = Type.Object({ limit: Limit, cursor: parameter('The `next` of the previous page.') });

/** Returns the schema of an operation's query. */
export function queryOf({ query, paged }: Operation): TObject {
  return Type.Object({ ...query?.properties, ...(paged === true ? paging.properties : {}) });
}

/** Returns the readers of an operation; each raises invalid_request with the name of the field. */
export function readers(operation: Operation) {
  const { body, bodyIsForwarded, fieldPaths = 'dots', idempotency, idempotencyRequired } = operation;
  const readQuery = queryReader(queryOf(operation));
  const readBody = body === undefined || bodyIsForwarded === true ? undefined : bodyChecker(body, fieldPaths);
  return {
    query: readQuery,
    json: async (ctx: Context): Promise<unknown> => (readBody === undefined ? undefined : readJson(ctx, bodyBytesMax)),
    body: (json: unknown): unknown => readBody?.(json),
    idempotencyKey: (ctx: Context, scope: string): string =>
      idempotency === undefined ? '' : idempotencyKeyOf(ctx, scope, idempotencyRequired === true),
  };
}

/** Returns the first value of each parameter; an empty one counts as absent. Parameters that are not in the schema are ignored. */
function queryReader(schema: TObject) {
  const check = bodyReader(schema, 'dots', { withRules: true });
  const properties = Object.entries(schema.properties as Record<string, { type?: string }>);
  return (ctx: Context): Pick<Call, 'query' | 'page'> => {
    const query: Record<string, unknown> = {};
    for (const [name, { type }] of properties) {
      const text = [ctx.query[name] ?? ''].flat()[0] ?? '';
      if (text !== '') query[name] = type === 'integer' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    }
    const { limit, cursor } = check(query) as { limit?: number; cursor?: string };
    return { query, page: { pageSize: limit ?? pageSizeDefault, pageToken: cursor ?? '' } };
  };
}

/** Rejects a field that is not in the schema, at any depth, because a misspelt field would otherwise silently get its default. */
export function bodyChecker(schema: TSchema, style: PathStyle) {
  const check = bodyReader(schema, style, { withRules: true });
  return (value: unknown): unknown => {
    const body = check(value);
    const unknown = unknownField(schema as Shape, body, []);
    if (unknown !== undefined)
      throw fieldFault(pathText(unknown.path, style).slice(0, 100), 'unknown_field', { fields: unknown.fields.join(', ') });
    return body;
  };
}

/** The parts of a schema that say which fields a value may have. */
interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly additionalProperties?: unknown;
}

interface UnknownField {
  readonly path: Path;
  /** The fields in its place. */
  readonly fields: readonly string[];
}

/** Returns the first field of a valid value that its schema does not name, unless it permits any. */
function unknownField(schema: Shape, value: unknown, path: Path): UnknownField | undefined {
  if (schema.anyOf !== undefined) {
    const found = schema.anyOf
      .filter(({ type }) => type === (Array.isArray(value) ? 'array' : typeof value))
      .map((each) => unknownField(each, value, path));
    return found.includes(undefined) ? undefined : found[0];
  }
  if (Array.isArray(value))
    return schema.items === undefined
      ? undefined
      : firstOf(value.entries(), (index, item) => unknownField(schema.items!, item, [...path, index]));
  const { properties, additionalProperties = false } = schema;
  if (properties === undefined || additionalProperties !== false || typeof value !== 'object' || value === null) return undefined;
  return firstOf(Object.entries(value), (name, field) =>
    Object.hasOwn(properties, name)
      ? unknownField(properties[name]!, field, [...path, name])
      : { path: [...path, name], fields: Object.keys(properties) },
  );
}

function firstOf<K, V>(entries: Iterable<[K, V]>, find: (key: K, value: V) => UnknownField | undefined): UnknownField | undefined {
  for (const [key, value] of entries) {
    const found = find(key, value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function idempotencyKeyOf(ctx: Context, scope: string, required: boolean): string {
  const given = ctx.get('idempotency-key');
  // A truncated key could equal another one.
  if (given.length > idempotencyKeyCharsMax || (required && given === '')) {
    throw fieldFault('idempotency-key', 'length', { min: 1, max: idempotencyKeyCharsMax });
  }
  return given === '' ? '' : `${scope} ${given}`;
}
