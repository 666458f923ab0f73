// The bodies of alerts and payments.
import { type TSchema, Type } from 'typebox';
import type { Context } from 'koa';
import { bodyReader } from '../../formats/body-reader.js';
import { optional } from '../../formats/fields.js';
import { readJson } from '../../middleware/json-body.js';

const bodyBytesMax = 64 * 1024;
const Usd = Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,9})?$', description: 'Decimal USD, for example "5" or "0.25".' });

const read = <S extends TSchema>(schema: S) => {
  const check = bodyReader(schema, 'dots');
  return async (ctx: Context) => check(await readJson(ctx, bodyBytesMax));
};

/** A reader for each body; each raises invalid_request that names the field. */
export const alertBodies = {
  // All of an alert: what is left out is off or empty.
  putAlert: read(
    Type.Object({
      enabled: Type.Boolean(),
      threshold_usd: Usd,
      emails: optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 20 })),
      webhook_url: optional(Type.String({ maxLength: 4096 })),
      renew_webhook_secret: optional(Type.Boolean()),
    }),
  ),
  beginPayment: read(Type.Object({ amount_usd: Usd })),
};
