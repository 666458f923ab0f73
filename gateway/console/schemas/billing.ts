// Balance and billing of an account.
import { type Static, Type } from 'typebox';
import { choice, Count, listOf, nullable, parameter, Text, textOf, Time, Usd, usd, view } from './shapes.js';
import { entryKinds } from './words.js';

const balanceFields = {
  available_usd: Usd,
  held_usd: usd('The amount held for calls in flight.'),
  settled_usd: usd('The sum of `available_usd` and `held_usd`.'),
  credited_usd: Usd,
  spent_usd: Usd,
};

export const Balance = view('Balance', balanceFields);
export type Balance = Static<typeof Balance>;
export const BalanceNow = view('BalanceNow', {
  ...balanceFields,
  low: Type.Boolean({ description: 'Whether the alert is on and `settled_usd` is below its threshold.' }),
  threshold_usd: nullable(Usd),
});
export type BalanceNow = Static<typeof BalanceNow>;

export const holdFields = { request_id: Text, key_id: Text, amount_usd: Usd, used_so_far_usd: Usd, created_at: Time, expires_at: Time };
/** Funds held for a call in flight. */
export const Hold = view('Hold', holdFields);
export type Hold = Static<typeof Hold>;
export const HoldList = listOf(Hold);

/** An entry of the journal. */
export const Entry = view('Entry', {
  id: Text,
  number: Type.Integer({ description: 'The position in the journal of the account.' }),
  kind: Type.Enum(entryKinds),
  amount_usd: Usd,
  effect_usd: usd('What the entry added to the balance: negative if it lowered the balance, zero for a shortfall.'),
  balance_after_usd: usd('The balance after the entry, including held funds.'),
  request_id: nullable(Text, 'The call that the entry is about.'),
  key_id: nullable(Text),
  source: nullable(Type.Enum(['cash', 'promotion']), 'Null except for a deposit.'),
  reference: nullable(Text, 'The reference of an invoice or a payment that the operator entered; `reason` ends with it.'),
  reason: nullable(Text),
  corrects_entry_id: nullable(Text, 'The entry that this one corrects or reverses.'),
  created_at: Time,
});
export type Entry = Static<typeof Entry>;
export type EntryKind = Entry['kind'];
export const EntryList = listOf(Entry);
export const EntryDetail = view('EntryDetail', {
  entry: Entry,
  corrections: Type.Array(Entry, { description: 'Later entries that correct the entry or one of its corrections, oldest first.' }),
  reversible_usd: usd('What a reversal would reverse: zero if nothing is left of the entry or it cannot be reversed.'),
});
export type EntryDetail = Static<typeof EntryDetail>;

/** The answer to an operation that moves money. */
export const Posted = view('Posted', {
  entry: Entry,
  balance: Balance,
  replayed: Type.Boolean({ description: 'Whether the request was a repeat, which moved no money.' }),
});
export type Posted = Static<typeof Posted>;

/** A month (UTC): opening + deposits + adjustments − charges + refunds = closing. The sums are net of reversals, so they may be negative. */
export const Statement = view('Statement', {
  month: Text,
  from: Time,
  until: Time,
  opening_usd: Usd,
  deposits_usd: usd('Deposits less payment refunds.'),
  adjustments_usd: Usd,
  charges_usd: Usd,
  refunds_usd: Usd,
  closing_usd: Usd,
  lines: Count,
  has_archived_lines: Type.Boolean({ description: 'Whether some lines are in an archive and not listed here. The figures include them.' }),
  is_closed: Type.Boolean({ description: 'Whether the month is over, so that the statement no longer changes.' }),
});
export type Statement = Static<typeof Statement>;
export const StatementList = listOf(Statement);
export const StatementPage = Type.Object({ statement: Statement, ...EntryList.properties });
export type StatementPage = Static<typeof StatementPage>;
export const GetStatement = Type.Object({
  kind: parameter(`Any of ${entryKinds.join(', ')}, separated by commas.`),
  order: choice(['newest', 'oldest'], 'Which lines come first; newest when absent.'),
  format: choice(
    ['json', 'csv', 'projects-csv'],
    "csv: a file of all lines. projects-csv: a file of the cost of each project's calls that began in the month. json when absent.",
  ),
});

export const Receipt = view('Receipt', {
  number: Text,
  entry_id: Text,
  account: Type.Object({ id: Text, name: Text }),
  created_at: Time,
  amount_usd: Usd,
  source: Type.Enum(['cash', 'promotion']),
  reference: nullable(Text, 'The reference of an invoice or a payment that the operator entered; `reason` ends with it.'),
  reason: nullable(Text),
  balance_after_usd: Usd,
  corrections: Type.Array(Entry, {
    description: 'Later entries that correct the deposit, such as its refund, or one another; oldest first.',
  }),
});
export type Receipt = Static<typeof Receipt>;

export const RedeemCode = Type.Object({ code: textOf(1, 100) });
