// The SQL of accounts.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { AuditChange } from '#kit/audit/audit-outbox.js';
import type { Database } from '#kit/db/open.js';
import { idToBytes } from '#kit/id.js';
import type { Account, AccountState } from '#proto/auth/v1/auth.js';
import { nextChangeNumber } from './changes.js';
import { createOnce, type RepeatableCall } from './idempotency.js';
import { accountColumns, type Row, toAccount } from './rows.js';

/** Which accounts are listed. */
export interface AccountSearch {
  /** A part of the name, or "acct_" and the first digits of the id; empty: all. */
  readonly search: string;
  readonly state: AccountState | undefined;
  readonly newestFirst: boolean;
}

/** As names are compared in a search. */
function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** Inserts an account, as this change, in a transaction of the caller's. */
export async function insertAccount(
  tx: Knex.Transaction,
  account: Account,
  changeNumber: Awaited<ReturnType<typeof nextChangeNumber>>,
): Promise<void> {
  await tx('account').insert({
    id: idToBytes('acct', account.id),
    name: account.name,
    search_name: folded(account.name),
    state: account.state,
    created_at_ms: account.createdAtMs,
    version: account.version,
    change_number: changeNumber,
  });
}

/** Keeps accounts. */
export class AccountStore {
  constructor(private readonly db: Database) {}

  /** Adds an account. False when `call` was made before: then nothing was added. `audit` runs in the same transaction. */
  add(account: Account, call: RepeatableCall | undefined, audit: (tx: Knex.Transaction) => Promise<void>): Promise<boolean> {
    const id = idToBytes('acct', account.id);
    assert(id !== undefined);
    return createOnce(this.db, call, { id, atMs: account.createdAtMs }, async (tx) => {
      await insertAccount(tx, account, await nextChangeNumber(tx));
      await audit(tx);
    });
  }

  /** The account with this id. */
  async find(id: Buffer): Promise<Account | undefined> {
    const row: Row | undefined = await this.db
      .knex('account')
      .where({ id })
      .first(...accountColumns);
    return row === undefined ? undefined : toAccount(row);
  }

  /**
   * Up to `limit` accounts that match, in order of creation or the newest first, from the one behind `after` on. A search by name
   * reads names in the order of the answer until there are enough.
   */
  async list(which: AccountSearch, after: Buffer | undefined, limit: number): Promise<Account[]> {
    const { search, state, newestFirst } = which;
    const query = this.db
      .knex('account')
      .orderBy('id', newestFirst ? 'desc' : 'asc')
      .limit(limit)
      .select(...accountColumns);
    if (after !== undefined) query.where('id', newestFirst ? '<' : '>', after);
    if (state !== undefined) query.where({ state });
    if (search.startsWith('acct_')) {
      const digits = search.slice('acct_'.length);
      query.whereBetween('id', ['0', 'f'].map((digit) => Buffer.from(digits.padEnd(32, digit), 'hex')) as [Buffer, Buffer]);
    } else if (search !== '') {
      query.whereRaw('INSTR(search_name, ?) > 0', [folded(search)]);
    }
    const rows: Row[] = await query;
    return rows.map(toAccount);
  }

  /**
   * Replaces the account by what `change` makes of it, with the next version. Where `change` gives back the same object, nothing
   * is written. `change` may run more than once, and what it throws leaves the account as it was. Undefined when there is none. `audit`
   * runs in the same transaction, for a change that was written.
   */
  change(id: Buffer, change: (account: Account) => Account, audit: AuditChange<Account>): Promise<Account | undefined> {
    return this.db.transaction(async (tx) => {
      const row: Row | undefined = await tx('account')
        .where({ id })
        .forUpdate()
        .first(...accountColumns);
      if (row === undefined) return undefined;
      const before = toAccount(row);
      const after = change(before);
      if (after === before) return before;
      const version = before.version + 1n;
      const changeNumber = await nextChangeNumber(tx);
      const updated = await tx('account')
        .where({ id, version: before.version })
        .update({
          name: after.name,
          search_name: folded(after.name),
          state: after.state,
          state_reason: after.stateReason,
          version,
          change_number: changeNumber,
        });
      assert.equal(updated, 1);
      await audit(tx, before, after);
      return { ...after, version };
    });
  }
}
