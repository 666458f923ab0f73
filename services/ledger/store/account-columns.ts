// Caches the columns that lead an account's rows for the duration of one transaction, in which the same accounts occur repeatedly.
import type { Engine } from '#kit/db/open.js';
import { type AccountColumns, accountColumns } from './rows.js';

/** Holds the columns of accounts, each created once. */
export class AccountColumnsOf {
  private readonly known = new Map<string, AccountColumns>();

  constructor(private readonly engine: Engine) {}

  of(accountId: string): AccountColumns {
    let columns = this.known.get(accountId);
    if (columns === undefined) this.known.set(accountId, (columns = accountColumns(accountId, this.engine)));
    return columns;
  }
}
