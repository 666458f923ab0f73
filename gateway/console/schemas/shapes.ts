// The building blocks of the schemas of the console's API. Nothing in this folder imports a service or a library other than TypeBox, because the console's
// types come from here.
import { type TProperties, type TSchema, Type } from 'typebox';
import type { FieldRule } from '#rules/errors/error-sentences.js';
import { ruleKeyword } from '../../formats/rule-keyword.js';

const usdPattern = '^-?\\d+(\\.\\d{1,9})?$';

/** Returns the schema of exact decimal-string USD; `description` explains the amount if the field's name does not. */
export function usd(description: string) {
  return Type.String({ pattern: usdPattern, description });
}

export const Usd = usd('Decimal USD, exact.');
/** A time in an answer. */
export const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$', description: 'RFC 3339.' });
export const Count = Type.Integer({ minimum: 0 });
export const Text = Type.String();
export const Flag = Type.Boolean();

/** Returns the schema or null; `means` explains null. */
export function nullable<S extends TSchema>(schema: S, means?: string) {
  return Type.Union([schema, Type.Null()], means === undefined ? {} : { description: means });
}

/** Returns an object schema with its own name, by which the document and the page refer to it. */
export function view<P extends TProperties>(title: string, properties: P, description?: string) {
  return Type.Object(properties, description === undefined ? { title } : { title, description });
}

/** Returns the schema of a page of a list; `next` is the cursor of the next page. */
export function listOf<S extends TSchema>(item: S) {
  return Type.Object({ data: Type.Array(item), next: nullable(Text, 'The cursor of the next page; null on the last one.') });
}

/** Returns the schema of a list without pages. */
export function allOf<S extends TSchema>(item: S) {
  return Type.Object({ data: Type.Array(item) });
}

/** Returns the schema of a request field that may be absent or null. */
export function optional<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** Names the rule of `#rules/errors/error-sentences.js` for values that do not match. */
export function brokenAs(rule: FieldRule): { readonly [ruleKeyword]: string } {
  return { [ruleKeyword]: rule };
}

/** Returns the schema of a text in a body. */
export function textOf(minLength: number, maxLength: number) {
  return Type.String({ minLength, maxLength });
}

/** The name of a user, an account or a key. */
export const Name = textOf(1, 200);
export const Email = textOf(0, 300);
export const Password = textOf(0, 1024);
/** The token of a link. */
export const Token = textOf(0, 100);
/** The token of a link that holds what it changes, sealed. */
export const SealedToken = textOf(1, 4000);
/** An amount in a body. `nanoUsdOf` reads it, and names the limit for one that is too high or too fine. */
export const UsdBody = Type.String({
  pattern: '^\\d+(\\.\\d+)?$',
  description: 'A decimal USD amount, for example "5" or "0.25".',
  ...brokenAs('usd'),
});
/** A time in a body, with its time zone. */
export const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:\\d{2})$',
  description: 'A timestamp with a zone, for example 2027-01-31T12:00:00Z.',
  ...brokenAs('timestamp'),
});

/** Returns the schema of an optional text parameter in the query. */
export function parameter(description: string) {
  return Type.Optional(Type.String({ description }));
}

/** Returns the schema of a query parameter with one of these words. */
export function choice<const W extends string[]>(words: readonly [...W], description: string) {
  return Type.Optional(Type.Enum(words, { description }));
}

export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Maximum number of items; 50 by default.' }));

/** Returns the schema of a body that an operation forwards without reading it, as part of the documentation. */
export function forwarded(schema: TSchema) {
  return Type.Unsafe<unknown>(schema);
}
