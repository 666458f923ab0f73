// The output of accounts.
import { type Account, AccountState } from '#proto/auth/v1/auth.js';
import type { Balance } from '#proto/ledger/v1/ledger.js';
import { budgetsJson, budgetsText, type SpendOfBudgets } from '../options/budgets.js';
import { type Column, instant, instantJson, usd, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';
import { accountRateLimitsJson, modelRateLimitsText, rateLimitsText } from '../options/rate-limits.js';
import { balanceView } from './balance.js';

/** The states of accounts, in words. */
export const accountStates = wordsOf<AccountState>(AccountState, 'ACCOUNT_STATE_');

/** An account. */
export const accountView: View<Account> = {
  json: (account) => ({
    id: account.id,
    name: account.name,
    state: accountStates.of(account.state),
    state_reason: account.stateReason === '' ? null : account.stateReason,
    rate_limits: accountRateLimitsJson(account.rateLimits),
    budgets: budgetsJson(account.budgets),
    time_zone: account.timeZone,
    created_at: instantJson(account.createdAtMs),
  }),
  columns: [
    { title: 'account', text: (account) => account.id },
    { title: 'name', text: (account) => account.name },
    { title: 'state', text: (account) => accountStates.of(account.state) },
    { title: 'created', text: (account) => instant(account.createdAtMs) },
  ],
  details: [
    { title: 'account', text: (account) => account.id },
    { title: 'name', text: (account) => account.name },
    { title: 'state', text: (account) => accountStates.of(account.state) },
    { title: 'because', text: (account) => account.stateReason },
    { title: 'rate limits', text: (account) => rateLimitsText(account.rateLimits?.allModels) },
    { title: 'model limits', text: (account) => modelRateLimitsText(account.rateLimits) },
    { title: 'budgets', text: (account) => budgetsText(account.budgets) },
    { title: 'time zone', text: (account) => account.timeZone },
    { title: 'created', text: (account) => instant(account.createdAtMs) },
  ],
};

/** An account and its balance. */
export interface AccountWithBalance {
  readonly account: Account;
  /** Undefined while the ledger is unavailable. */
  readonly balance: Balance | undefined;
  /** Absent: it was not read. */
  readonly spend?: SpendOfBudgets;
}

/** An account and its balance; the balance's account id is omitted. */
export const accountWithBalanceView: View<AccountWithBalance> = {
  json: ({ account, balance, spend }) => ({
    ...accountView.json(account),
    budgets: budgetsJson(account.budgets, spend),
    balance: balance === undefined ? null : balanceView.json(balance),
  }),
  columns: [
    ...accountView.details!.map((column): Column<AccountWithBalance> => ({
      ...column,
      text: ({ account, spend }) => (column.title === 'budgets' ? budgetsText(account.budgets, spend) : column.text(account)),
    })),
    ...balanceView.columns.slice(1).map((column): Column<AccountWithBalance> => ({
      ...column,
      text: ({ balance }) => (balance === undefined ? '?' : column.text(balance)),
    })),
  ],
};

/** An account in a list, with its balance and its number of keys. */
export interface AccountInList extends AccountWithBalance {
  readonly keys: number;
}

/** An account in a list. */
export const accountInListView: View<AccountInList> = {
  json: ({ account, balance, keys }) => ({
    ...accountView.json(account),
    balance: balance === undefined ? null : balanceView.json(balance),
    keys,
  }),
  columns: [
    ...accountView.columns.map((column): Column<AccountInList> => ({ ...column, text: ({ account }) => column.text(account) })),
    { title: 'available', text: ({ balance }) => (balance === undefined ? '?' : usd(balance.availableNanoUsd)), align: 'right' },
    { title: 'held', text: ({ balance }) => (balance === undefined ? '?' : usd(balance.heldNanoUsd)), align: 'right' },
    { title: 'keys', text: ({ keys }) => String(keys), align: 'right' },
  ],
};
