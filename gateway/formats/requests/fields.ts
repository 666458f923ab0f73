// The vocabulary in which both request schemas declare, field by field, what is honoured, ignored and refused.
import { type Static, type TNull, type TObject, type TOptional, type TSchema, type TUnion, type TUnsafe, Type } from 'typebox';

/** Schema keyword: a value that does not match is an unsupported feature; the text names the fix. */
export const unsupportedKeyword = 'x-tollgate-unsupported';
/** Schema keyword: accepted without effect, and reported to the caller in x-tollgate-dropped-params. */
export const ignoredKeyword = 'x-tollgate-ignored';
/** Schema keyword: reaches upstreams of the caller's own format; if another one answers, it is dropped and reported to the caller. */
export const nativeOnlyKeyword = 'x-tollgate-native-only';

/** Returns a schema for a field that may be absent or null. */
export function optional<S extends TSchema>(schema: S, options: Record<string, unknown> = {}): TOptional<TUnion<[S, TNull]>> {
  return Type.Optional(Type.Union([schema, Type.Null()], options));
}

/** Returns options for a schema whose other values exist in the vendor's format but must not be dropped silently. */
export function elseUnsupported(fix: string): Record<string, string> {
  return { [unsupportedKeyword]: fix };
}

/** Returns schemas for fields that must be absent or null, because they would change the answer. */
export function refused<const Names extends string>(fixes: Record<Names, string>): Record<Names, TOptional<TNull>> {
  const entries = Object.entries<string>(fixes).map(([name, fix]) => [name, Type.Optional(Type.Null(elseUnsupported(fix)))]);
  return Object.fromEntries(entries) as Record<Names, TOptional<TNull>>;
}

/** Options for a schema whose values reach only upstreams of the caller's format. */
export const nativeOnly = { [nativeOnlyKeyword]: true };

/** Returns schemas for fields that reach upstreams of the caller's format with any value, and are dropped for others. */
export function passedOn<const Names extends string>(...names: Names[]): Record<Names, TOptional<TSchema>> {
  const entries = names.map((name) => [name, Type.Optional(Type.Unknown(nativeOnly))]);
  return Object.fromEntries(entries) as Record<Names, TOptional<TSchema>>;
}

/** Represents, in types only, every unknown word, so that a `type` still distinguishes the known kinds. */
declare const otherWord: unique symbol;

/** Returns a schema for an object of unknown kind: its type is any other word, and its other fields are for its vendor to validate. */
export function unknownKind(known: readonly string[]): TObject<{ type: TUnsafe<typeof otherWord> }> {
  const word = Type.Unsafe<typeof otherWord>(
    Type.String({ not: { enum: known }, description: 'Any other word reaches upstreams of this format only.' }),
  );
  return Type.Object({ type: word });
}

/** Returns schemas for fields that are accepted with any value and have no effect. */
export function ignored<const Names extends string>(...names: Names[]): Record<Names, TOptional<TSchema>> {
  const entries = names.map((name) => [name, Type.Optional(Type.Unknown({ [ignoredKeyword]: true }))]);
  return Object.fromEntries(entries) as Record<Names, TOptional<TSchema>>;
}

/** Options for a schema whose valid values are accepted without effect. */
export const ignoredAs = { [ignoredKeyword]: true };

const notBlocked = Type.Optional(
  Type.Object({ mode: Type.Optional(Type.Literal('score', elseUnsupported('blocking moderation is not supported; leave it out'))) }),
);
/** Moderation by OpenAI's formats, which is ignored unless it could block an answer. */
export const Moderation = Type.Object({ policy: optional(Type.Object({ input: notBlocked, output: notBlocked })) });

/** Maximum number of messages, as set by the vendor of the messages format (https://platform.claude.com/docs/en/api/messages). */
export const messagesMax = 100_000;

/** A positive token count that fits the common call. */
export const Tokens = Type.Integer({ minimum: 1, maximum: 0xffff_ffff });

// The caller chooses the names of its fields, so only names that are safe in a response header are kept.
const headerSafeName = /^[\w.:-]{1,64}$/;
const droppedFieldsMax = 32;

/** Collects the names of fields without effect: each once, safe for a header, at most 32. */
export class DroppedFields {
  readonly names: string[] = [];

  add(name: string): void {
    if (this.names.length < droppedFieldsMax && headerSafeName.test(name) && !this.names.includes(name)) this.names.push(name);
  }
}

/** The type of a schema's values. */
export type ValueOf<S extends TSchema> = Static<S>;
