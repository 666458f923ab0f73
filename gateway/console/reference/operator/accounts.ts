// Accounts and their money, for operators.
import { Type } from 'typebox';
import { operatorBodies } from '../../routes/operator/operator-bodies.js';
import { Balance, Posted } from '../money.js';
import { type Area, made, ok } from '../operation.js';
import { Count, listOf, nullable, Text, Time, usd, view } from '../shapes.js';

const accountFields = { id: Text, name: Text, state: Type.Enum(['active', 'suspended']), state_reason: nullable(Text), created_at: Time };
const inListFields = {
  ...accountFields,
  balance: nullable(Balance, 'Null while the ledger does not answer.'),
  keys: Type.Integer({ minimum: 0, description: 'Those that are not revoked.' }),
};
const Account = view('Account', accountFields);
const away = Type.Array(Type.Enum(['ledger', 'metering']), {
  description: 'Who did not answer: without the ledger `balance` is null, without metering `last_call` is.',
});

const moves = [made(Posted, 'Entered.'), ok(Posted, 'The answer to a repeat.')];
const onceFor = 'Needed. A repeat with the same value moves nothing.';
const confirmed = { invalid_request: 'Also: an amount above `confirm_above_usd` was not sent again as `confirm_amount_usd`.' };

export const accountArea: Area = {
  title: 'Operators: accounts',
  description: 'All accounts, and money into and out of them, always by new entries of the journal.',
  operations: [
    {
      method: 'GET',
      path: '/operator/accounts',
      summary: 'List the accounts with their money and keys, newest first.',
      who: 'operator',
      query: { search: 'Found in the name or the id.', state: 'active or suspended.' },
      paged: true,
      answers: [ok(listOf(view('AccountInList', inListFields)))],
    },
    {
      method: 'POST',
      path: '/operator/accounts',
      summary: 'Make an account.',
      who: 'operator',
      idempotency: 'A repeat makes no second account.',
      body: operatorBodies.createAccount.schema,
      answers: [made(Account)],
    },
    {
      method: 'GET',
      path: '/operator/accounts/{account}',
      summary: 'Show an account with its money and its last call.',
      who: 'operator',
      answers: [
        ok(view('AccountDetail', { ...inListFields, keys: Count, last_call: nullable(Type.Object({ request_id: Text, at: Time })), away })),
      ],
    },
    {
      method: 'PATCH',
      path: '/operator/accounts/{account}',
      summary: 'Rename an account.',
      who: 'operator',
      body: operatorBodies.updateAccount.schema,
      answers: [ok(Account)],
    },
    {
      method: 'POST',
      path: '/operator/accounts/{account}/suspend',
      summary: 'Suspend an account: its keys are refused within a second.',
      who: 'operator',
      body: operatorBodies.suspend.schema,
      answers: [ok(Account)],
    },
    {
      method: 'POST',
      path: '/operator/accounts/{account}/resume',
      summary: 'Serve an account again.',
      who: 'operator',
      body: operatorBodies.resume.schema,
      answers: [ok(Account)],
    },
    {
      method: 'POST',
      path: '/operator/accounts/{account}/credits',
      summary: 'Add money.',
      who: 'operator',
      idempotency: onceFor,
      body: operatorBodies.credit.schema,
      answers: moves,
      refusals: confirmed,
    },
    {
      method: 'POST',
      path: '/operator/accounts/{account}/debits',
      summary: 'Take money away, never below zero.',
      who: 'operator',
      idempotency: onceFor,
      body: operatorBodies.debit.schema,
      answers: moves,
      refusals: { ...confirmed, balance_empty: 'The account has less than that.' },
    },
    {
      method: 'POST',
      path: '/operator/accounts/{account}/entries/{entry}/reverse',
      summary: 'Enter the opposite of an entry, once; of a charge, what is left of it is given back.',
      who: 'operator',
      body: operatorBodies.reverse.schema,
      answers: moves,
      refusals: { ...confirmed, failed_precondition: 'The entry took nothing and added nothing, or nothing is left of it.' },
    },
    {
      method: 'GET',
      path: '/operator/settings',
      summary: 'Show what pages must know before money moves.',
      who: 'operator',
      answers: [ok(Type.Object({ confirm_above_usd: usd('Amounts above it have to be sent twice.') }))],
    },
  ],
};
