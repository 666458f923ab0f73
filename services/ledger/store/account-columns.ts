// Remembers the columns that lead an account's rows for the time of one transaction, in which the same accounts come up again and again.
import type { Engine } from '#kit/db/open.js';
import { type AccountColumns, accountColumns } from './rows.js';

/** The columns of accounts, each made once. */
export class AccountColumnsOf {
  private readonly known = new Map<string, AccountColumns>();

  constructor(private readonly engine: Engine) {}

  of(accountId: string): AccountColumns {
    let columns = this.known.get(accountId);
    if (columns === undefined) this.known.set(accountId, (columns = accountColumns(accountId, this.engine)));
    return columns;
  }
}
