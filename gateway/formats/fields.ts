// The words in which both request schemas say, field by field, what is honoured, ignored and refused.
import { type Static, type TNull, type TObject, type TOptional, type TSchema, type TUnion, Type } from 'typebox';

/** Schema keyword: a value that does not match is a feature that is not offered; the text names the fix. */
export const unsupportedKeyword = 'x-tollgate-unsupported';
/** Schema keyword: accepted without effect, and told to the caller in x-tollgate-dropped-params. */
export const ignoredKeyword = 'x-tollgate-ignored';

/** A field that may be absent or null. */
export function optional<S extends TSchema>(schema: S): TOptional<TUnion<[S, TNull]>> {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** Options of a schema whose other values exist in the vendor's format but would be wrong to drop. */
export function elseUnsupported(fix: string): Record<string, string> {
  return { [unsupportedKeyword]: fix };
}

/** Fields that may only be absent or null, because they would change the answer. */
export function refused<const Names extends string>(fixes: Record<Names, string>): Record<Names, TOptional<TNull>> {
  const entries = Object.entries<string>(fixes).map(([name, fix]) => [name, Type.Optional(Type.Null(elseUnsupported(fix)))]);
  return Object.fromEntries(entries) as Record<Names, TOptional<TNull>>;
}

/** Fields that are accepted whatever their value and have no effect here. */
export function ignored<const Names extends string>(...names: Names[]): Record<Names, TOptional<TSchema>> {
  const entries = names.map((name) => [name, Type.Optional(Type.Unknown({ [ignoredKeyword]: true }))]);
  return Object.fromEntries(entries) as Record<Names, TOptional<TSchema>>;
}

/** The longest conversation, as the vendor of the messages format has it (https://platform.claude.com/docs/en/api/messages). */
export const messagesMax = 100_000;

/** A positive token count that fits the common call. */
export const Tokens = Type.Integer({ minimum: 1, maximum: 0xffff_ffff });

// A caller chooses the names of its fields, so they are cut to what may stand in a response header.
const headerSafeName = /^[\w.:-]{1,64}$/;
const droppedFieldsMax = 32;

/** Collects the names of fields without effect: each once, safe in a header, at most 32. */
export class DroppedFields {
  readonly names: string[] = [];

  add(name: string): void {
    if (this.names.length < droppedFieldsMax && headerSafeName.test(name) && !this.names.includes(name)) this.names.push(name);
  }

  /** Adds the top-level fields of a body that are present but not honoured by its schema. */
  addUnhonoured(body: object, schema: TObject): void {
    const properties: Record<string, TSchema> = schema.properties;
    for (const [name, value] of Object.entries(body)) {
      if (value === null || value === undefined) continue;
      if (!Object.hasOwn(properties, name) || ignoredKeyword in properties[name]!) this.add(name);
    }
  }
}

/** The type of a schema's values. */
export type ValueOf<S extends TSchema> = Static<S>;
