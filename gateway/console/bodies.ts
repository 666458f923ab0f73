// The bodies of the console's API as schemas: type and validator in one.
import { type TSchema, Type } from 'typebox';
import type { Context } from 'koa';
import { bodyReader, fieldError, type PathStyle } from '../formats/body-reader.js';
import { optional } from '../formats/fields.js';
import { readJson } from '../http/middleware/json-body.js';

/** No body of the console's has a reason to be larger. */
const bodyBytesMax = 64 * 1024;

/** Decimal USD. */
export const Usd = Type.String({ pattern: '^\\d{1,10}(\\.\\d{1,9})?$', description: 'Decimal USD, for example "5" or "0.25".' });
/** An instant with its zone. */
export const Instant = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:\\d{2})$',
  description: 'RFC 3339.',
});
const Secret = Type.String({ maxLength: 1024 });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const RoleName = Type.Enum(['owner', 'admin', 'developer', 'billing', 'viewer']);
const Models = Type.Array(Type.String({ pattern: '^[\\x21-\\x7e]{1,200}$', description: 'An id as GET /v1/models lists it.' }), {
  minItems: 1,
  maxItems: 150,
});

/**
 * A reader of bodies of this schema, with the schema for the reference; it raises invalid_request that names the field. A field that
 * is none is refused: a misspelt one would else mean its default.
 */
export const readBody = <S extends TSchema>(schema: S, style: PathStyle = 'dots') => {
  const check = bodyReader(schema, style);
  const fields = Object.keys((schema as { properties?: object }).properties ?? {});
  return Object.assign(
    async (ctx: Context) => {
      const body = check(await readJson(ctx, bodyBytesMax));
      const unknown = Object.keys(body as object).find((name) => !fields.includes(name));
      if (unknown !== undefined)
        throw fieldError('invalid_request', unknown.slice(0, 100), `is no field of this request; its fields are ${fields.join(', ')}`);
      return body;
    },
    { schema },
  );
};

/** A reader for each body; each raises invalid_request that names the field. */
export const bodies = {
  signIn: readBody(Type.Object({ email: Type.String({ maxLength: 300 }), password: Secret })),
  link: readBody(Type.Object({ token: Type.String({ maxLength: 100 }) })),
  password: readBody(Type.Object({ current_password: optional(Secret), new_password: Secret })),
  accept: readBody(Type.Object({ token: Type.String({ maxLength: 100 }), name: optional(Name), password: optional(Secret) })),
  createKey: readBody(Type.Object({ name: Name, models: optional(Models), limit_usd: optional(Usd), expires_at: optional(Instant) })),
  // Absent leaves a field as it is; null takes the limit, the expiry or the restriction away.
  updateKey: readBody(
    Type.Object({
      name: Type.Optional(Name),
      models: Type.Optional(Type.Union([Models, Type.Null()])),
      limit_usd: Type.Optional(Type.Union([Usd, Type.Null()])),
      expires_at: Type.Optional(Type.Union([Instant, Type.Null()])),
      state: Type.Optional(Type.Enum(['active', 'disabled'])),
    }),
  ),
  rotateKey: readBody(Type.Object({ overlap_seconds: optional(Type.Integer({ minimum: 0, maximum: 2_592_000 })) })),
  invite: readBody(Type.Object({ email: Type.String({ maxLength: 300 }), role: RoleName })),
  putMember: readBody(Type.Object({ role: RoleName })),
};
