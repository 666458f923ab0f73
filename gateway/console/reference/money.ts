// Balance and billing of an account.
import { Type } from 'typebox';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import { redemptionBodies } from '../redemption-bodies.js';
import { type Area, made, ok } from './operation.js';
import { allOf, Count, enumOf, listOf, nullable, Text, Time, Usd, usd, view } from './shapes.js';

const balanceFields = {
  available_usd: Usd,
  held_usd: usd('Set aside for calls in flight.'),
  settled_usd: usd('Available and held together.'),
  credited_usd: Usd,
  spent_usd: Usd,
};

/** What an account has. */
export const Balance = view('Balance', balanceFields);

/** Of money set aside for a call. */
export const holdFields = { request_id: Text, key_id: Text, amount_usd: Usd, used_so_far_usd: Usd, created_at: Time, expires_at: Time };

const entryFields = {
  id: Text,
  number: Type.Integer({ description: 'Its place in the journal of the account.' }),
  kind: enumOf(EntryKind, 'ENTRY_KIND_'),
  amount_usd: Usd,
  effect_usd: usd('What it added to the money of the account; below zero for what it took.'),
  balance_after_usd: usd('What there was after it, held money too.'),
  request_id: nullable(Text, 'The call that it is about.'),
  key_id: nullable(Text),
  source: nullable(Type.Enum(['cash', 'promotion']), 'Of a deposit.'),
  reference: nullable(Text),
  reason: nullable(Text),
  corrects_entry_id: nullable(Text),
  created_at: Time,
};

/** A line of the journal. */
export const Entry = view('Entry', entryFields);

/** What moving money is answered with. */
export const Posted = view('Posted', {
  entry: Entry,
  balance: Balance,
  replayed: Type.Boolean({ description: 'It is the answer to a repeat, which moved nothing.' }),
});

const Statement = view('Statement', {
  month: Text,
  from: Time,
  until: Time,
  opening_usd: Usd,
  deposits_usd: Usd,
  adjustments_usd: Usd,
  charges_usd: Usd,
  refunds_usd: Usd,
  closing_usd: Usd,
  lines: Count,
  has_archived_lines: Type.Boolean({ description: 'Some of its lines are in an archive, and not listed here.' }),
  is_closed: Type.Boolean({ description: 'The month is over, and nothing of it will change.' }),
});

const receiptFields = {
  created_at: Time,
  amount_usd: Usd,
  source: entryFields.source,
  reference: nullable(Text),
  reason: nullable(Text),
  balance_after_usd: Usd,
};
const Receipt = view('Receipt', { number: Text, entry_id: Text, account: Type.Object({ id: Text, name: Text }), ...receiptFields });

export const moneyArea: Area = {
  title: 'Money',
  description: 'What an account has, what is held, and what was entered into its journal.',
  operations: [
    {
      method: 'GET',
      path: '/accounts/{account}/balance',
      summary: 'Show the balance, and whether it is low.',
      who: 'look',
      answers: [
        ok(
          view('BalanceNow', {
            ...balanceFields,
            low: Type.Boolean({ description: 'The alert is on and settled_usd is below its threshold.' }),
            threshold_usd: nullable(Usd),
          }),
        ),
      ],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/holds',
      summary: 'List the money that is set aside for calls in flight.',
      who: 'look',
      query: { limit: 'How many at most, 1 to 200; 50 when absent.' },
      answers: [ok(allOf(view('Hold', holdFields)))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/entries',
      summary: 'List the entries of the journal, newest first.',
      who: 'look',
      paged: true,
      answers: [ok(listOf(Entry))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/statements',
      summary: 'List the months with their figures, newest first.',
      who: 'look',
      paged: true,
      answers: [ok(listOf(Statement))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/statements/{month}',
      summary: 'Show a month: its figures and a page of its lines.',
      who: 'look',
      query: {
        kind: 'Words of deposit, charge, shortfall, adjustment, refund, separated by commas.',
        order: 'newest, which it is when absent, or oldest first.',
        format: 'csv for all lines as a file; else json.',
      },
      paged: true,
      answers: [{ ...ok(Type.Object({ statement: Statement, data: Type.Array(Entry), next: nullable(Text) })), types: ['text/csv'] }],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/deposits',
      summary: 'List the deposits, newest first; each has a receipt.',
      who: 'look',
      paged: true,
      answers: [ok(listOf(Entry))],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/receipts/{entry}',
      summary: 'Show the receipt of a deposit.',
      who: 'look',
      answers: [ok(Receipt)],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/redemptions',
      summary: 'Redeem a code, which credits the account once.',
      who: 'change money',
      body: redemptionBodies.redeem.schema,
      answers: [made(Posted, 'Credited.'), ok(Posted, 'This account had redeemed it before.')],
      refusals: {
        code_refused: 'There is no such code, or it is used, void or expired.',
        code_throttled: 'Ten codes were refused; wait for `retry-after`.',
      },
    },
  ],
};
