// What the schemas of the console's answers are made of. Pure.
import { type TProperties, type TSchema, Type } from 'typebox';

/** Decimal-string USD, exact; with what the amount is where its name does not say it. */
export function usd(description: string) {
  return Type.String({ pattern: '^-?\\d+(\\.\\d{1,9})?$', description });
}

export const Usd = usd('Decimal USD, exact.');
/** An instant. */
export const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$', description: 'RFC 3339.' });
export const Count = Type.Integer({ minimum: 0 });
export const Text = Type.String();
export const Flag = Type.Boolean();

/** The schema, or null; `means` says what null is for. */
export function nullable<S extends TSchema>(schema: S, means?: string) {
  return Type.Union([schema, Type.Null()], means === undefined ? {} : { description: means });
}

/** An object with a name of its own, to which the document and the page refer. */
export function view<P extends TProperties>(title: string, properties: P, description?: string) {
  return Type.Object(properties, description === undefined ? { title } : { title, description });
}

/** A page of a list; `next` is the cursor of the page after it. */
export function listOf(item: TSchema) {
  return Type.Object({ data: Type.Array(item), next: nullable(Text) });
}

/** A list that comes whole. */
export function allOf(item: TSchema) {
  return Type.Object({ data: Type.Array(item) });
}

/** Words of a generated enum, in lower case, without the prefix and without its zero. */
export function enumOf(generated: Readonly<Record<string, string | number>>, prefix: string) {
  const names = Object.entries(generated).flatMap(([name, value]) => (typeof value === 'number' && value > 0 ? [name] : []));
  return Type.Enum(names.map((name) => name.slice(prefix.length).toLowerCase()));
}

/** A schema of the document at /openapi.json. */
export function publicSchema(name: string): TSchema {
  return Type.Unsafe({ $ref: `../openapi.json#/components/schemas/${name}` });
}
