// Accounts and their money, for operators.
import { type Static, Type } from 'typebox';
import { AccountRateLimits, AccountRateLimitsBody } from '../rate-limits.js';
import { Balance } from '../billing.js';
import { choice, Count, listOf, Name, nullable, optional, parameter, Text, textOf, Time, usd, UsdBody, view } from '../shapes.js';

const accountFields = {
  id: Text,
  name: Text,
  state: Type.Enum(['active', 'suspended']),
  state_reason: nullable(Text),
  rate_limits: AccountRateLimits,
  created_at: Time,
};
export const Account = view('Account', accountFields);
export type Account = Static<typeof Account>;

const inListFields = {
  ...accountFields,
  balance: nullable(Balance, 'Null while the ledger is unavailable.'),
  keys: Type.Integer({ minimum: 0, description: 'Keys that are not revoked.' }),
};
export const AccountInList = view('AccountInList', inListFields);
export type AccountInList = Static<typeof AccountInList>;
export const AccountList = listOf(AccountInList);

export const AccountDetail = view('AccountDetail', {
  ...inListFields,
  keys: Count,
  last_call: nullable(Type.Object({ request_id: Text, at: Time })),
  away: Type.Array(Type.Enum(['ledger', 'metering']), {
    description: 'Services that were unavailable: without the ledger `balance` is null, without metering `last_call` is.',
  }),
});
export type AccountDetail = Static<typeof AccountDetail>;

export const OperatorSettings = Type.Object({ confirm_above_usd: usd('Amounts above this must be repeated in `confirm_amount_usd`.') });
export type OperatorSettings = Static<typeof OperatorSettings>;

export const ListAccounts = Type.Object({
  search: parameter('Part of the name or the id.'),
  state: choice(['active', 'suspended'], 'Both when absent.'),
});

// The ledger's text has room for a reference after the reason.
const Reason = textOf(1, 350);
const Reference = textOf(0, 100);

export const CreateAccount = Type.Object({ name: Name, rate_limits: optional(AccountRateLimitsBody) });
/** Absent fields are unchanged. Rate limits are replaced together; null removes all. */
export const UpdateAccount = Type.Object({ name: Type.Optional(Name), rate_limits: optional(AccountRateLimitsBody) });
export const SuspendAccount = Type.Object({ reason: Reason });
export const ResumeAccount = Type.Object({ reason: optional(textOf(0, 350)) });

/** An amount above `confirm_above_usd` is repeated in `confirm_amount_usd`. */
export const Credit = Type.Object({
  amount_usd: UsdBody,
  source: Type.Enum(['cash', 'promotion', 'correction']),
  reason: Reason,
  reference: optional(Reference),
  confirm_amount_usd: optional(UsdBody),
});
export type Credit = Static<typeof Credit>;
export const Debit = Type.Object({
  amount_usd: UsdBody,
  reason: Reason,
  reference: optional(Reference),
  confirm_amount_usd: optional(UsdBody),
});
export type Debit = Static<typeof Debit>;
export const Reverse = Type.Object({ reason: Reason, confirm_amount_usd: optional(UsdBody) });
export type Reverse = Static<typeof Reverse>;
