// How accounts are shown.
import { type Account, AccountState } from '#proto/auth/v1/auth.js';
import type { Balance } from '#proto/ledger/v1/ledger.js';
import { type Column, instant, instantJson, type View } from '../output.js';
import { wordsOf } from '../parse.js';
import { balanceView } from './balance.js';

const states = wordsOf<AccountState>(AccountState, 'ACCOUNT_STATE_');

/** An account. */
export const accountView: View<Account> = {
  json: (account) => ({ id: account.id, name: account.name, state: states.of(account.state), created_at: instantJson(account.createdAtMs) }),
  columns: [
    { title: 'account', text: (account) => account.id },
    { title: 'name', text: (account) => account.name },
    { title: 'state', text: (account) => states.of(account.state) },
    { title: 'created', text: (account) => instant(account.createdAtMs) },
  ],
};

/** An account and its money. */
export interface AccountWithBalance {
  readonly account: Account;
  readonly balance: Balance;
}

/** An account and its money; the balance's account id is left out. */
export const accountWithBalanceView: View<AccountWithBalance> = {
  json: ({ account, balance }) => ({ ...accountView.json(account), balance: balanceView.json(balance) }),
  columns: [
    ...accountView.columns.map((column): Column<AccountWithBalance> => ({ ...column, text: ({ account }) => column.text(account) })),
    ...balanceView.columns.slice(1).map((column): Column<AccountWithBalance> => ({ ...column, text: ({ balance }) => column.text(balance) })),
  ],
};
