// The bodies of what is asked about redemption codes.
import { Type } from 'typebox';
import { optional } from '../formats/fields.js';
import { Instant, readBody, Usd } from './bodies.js';

/** A reader for each body; each raises invalid_request that names the field. */
export const redemptionBodies = {
  redeem: readBody(Type.Object({ code: Type.String({ minLength: 1, maxLength: 100 }) })),
  create: readBody(
    Type.Object({
      amount_usd: Usd,
      count: optional(Type.Integer({ minimum: 1, maximum: 500 })),
      expires_at: optional(Instant),
      note: optional(Type.String({ maxLength: 200 })),
      // What all of them are worth together, where that is above an amount.
      confirm_amount_usd: optional(Usd),
    }),
  ),
};
