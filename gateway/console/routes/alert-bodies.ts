// The bodies of alerts and payments.
import { Type } from 'typebox';
import { optional } from '../../formats/fields.js';
import { readBody } from '../bodies.js';

const Usd = Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,9})?$', description: 'Decimal USD, for example "5" or "0.25".' });

/** A reader for each body; each raises invalid_request that names the field. */
export const alertBodies = {
  // All of an alert: what is left out is off or empty.
  putAlert: readBody(
    Type.Object({
      enabled: Type.Boolean(),
      threshold_usd: Usd,
      emails: optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems: 20 })),
      webhook_url: optional(Type.String({ maxLength: 4096 })),
      rotate_webhook_secret: optional(Type.Boolean()),
    }),
  ),
  beginPayment: readBody(Type.Object({ amount_usd: Usd })),
};
