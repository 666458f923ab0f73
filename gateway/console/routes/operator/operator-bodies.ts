// The bodies of the operator's routes about accounts, money, people and the audit log.
import { Type } from 'typebox';
import { optional } from '../../../formats/fields.js';
import { readBody, Usd } from '../../bodies.js';

const Name = Type.String({ minLength: 1, maxLength: 200 });
/** Room for a reference beside it in what the ledger keeps. */
const Reason = Type.String({ minLength: 1, maxLength: 350 });
const Reference = Type.String({ maxLength: 100 });

/** A reader for each body; each raises invalid_request that names the field. */
export const operatorBodies = {
  createAccount: readBody(Type.Object({ name: Name })),
  updateAccount: readBody(Type.Object({ name: Name })),
  suspend: readBody(Type.Object({ reason: Reason })),
  resume: readBody(Type.Object({ reason: optional(Type.String({ maxLength: 350 })) })),
  // Above an amount it has to be said twice: confirm_amount_usd is then the same amount again.
  credit: readBody(
    Type.Object({
      amount_usd: Usd,
      source: Type.Enum(['cash', 'promotion', 'correction']),
      reason: Reason,
      reference: optional(Reference),
      confirm_amount_usd: optional(Usd),
    }),
  ),
  debit: readBody(Type.Object({ amount_usd: Usd, reason: Reason, reference: optional(Reference), confirm_amount_usd: optional(Usd) })),
  reverse: readBody(Type.Object({ reason: Reason, confirm_amount_usd: optional(Usd) })),
  // Without a password the person signs in by a link.
  createUser: readBody(
    Type.Object({
      email: Type.String({ maxLength: 300 }),
      name: optional(Name),
      password: optional(Type.String({ maxLength: 1024 })),
      is_operator: optional(Type.Boolean()),
    }),
  ),
  updateUser: readBody(
    Type.Object({ name: Type.Optional(Name), is_disabled: Type.Optional(Type.Boolean()), is_operator: Type.Optional(Type.Boolean()) }),
  ),
  // An entry that was seen before, for example in an export.
  verifyAuditLog: readBody(
    Type.Object({
      number: optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      hash: optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
    }),
  ),
};
