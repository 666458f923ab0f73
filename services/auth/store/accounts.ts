// The SQL of accounts.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { AuditChange } from '#kit/audit/audit-outbox.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt } from '#kit/db/values.js';
import { idToBytes } from '#kit/id.js';
import type { Account, AccountState } from '#proto/auth/v1/auth.js';
import { budgetsColumn } from '../requests/budgets.js';
import { accountRateLimitsColumn } from '../requests/rate-limits.js';
import { nextChangeNumber } from './changes.js';
import { createOnce, type RepeatableCall } from './idempotency.js';
import { defaultProjectOf, insertProject } from './projects.js';
import { accountColumns, type Row, toAccount } from './rows.js';

/** Selects and orders the accounts to list. */
export interface AccountSearch {
  /** A part of the name, or "acct_" and the first digits of the id; empty: all. */
  readonly search: string;
  readonly state: AccountState | undefined;
  readonly newestFirst: boolean;
}

/** Returns the form in which names are compared in a search. */
function searchForm(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** Inserts an account with its default project, as the change with this number and the next, in a transaction. */
export async function insertAccount(
  tx: Knex.Transaction,
  account: Account,
  changeNumber: Awaited<ReturnType<typeof nextChangeNumber>>,
): Promise<void> {
  await tx('account').insert({
    id: idToBytes('acct', account.id),
    name: account.name,
    search_name: searchForm(account.name),
    state: account.state,
    rate_limits: accountRateLimitsColumn(account.rateLimits),
    budgets: budgetsColumn(account.budgets),
    time_zone: account.timeZone,
    never_log_prompts: Number(account.neverLogPrompts),
    require_second_factor: Number(account.requireSecondFactor),
    created_at_ms: account.createdAtMs,
    version: account.version,
    change_number: changeNumber,
  });
  await insertProject(tx, defaultProjectOf(account), await nextChangeNumber(tx));
}

/** Stores accounts. */
export class AccountStore {
  constructor(private readonly db: Database) {}

  /** Adds an account. Returns false, and adds nothing, when `call` is a repeat. `audit` runs in the same transaction. */
  add(account: Account, call: RepeatableCall | undefined, audit: (tx: Knex.Transaction) => Promise<void>): Promise<boolean> {
    const id = idToBytes('acct', account.id);
    assert(id !== undefined);
    return createOnce(this.db, call, { id, atMs: account.createdAtMs }, async (tx) => {
      await insertAccount(tx, account, await nextChangeNumber(tx));
      await audit(tx);
    });
  }

  /** Returns when the first account was created; 0 when there is none. */
  async oldestCreatedAtMs(): Promise<bigint> {
    // Ids begin with their instant.
    const row = (await this.db.knex('account').orderBy('id').first('created_at_ms')) as { created_at_ms: unknown } | undefined;
    return row === undefined ? 0n : asBigInt(row.created_at_ms);
  }

  /** Returns the account with this id. */
  async find(id: Buffer): Promise<Account | undefined> {
    const row: Row | undefined = await this.db
      .knex('account')
      .where({ id })
      .first(...accountColumns);
    return row === undefined ? undefined : toAccount(row);
  }

  /**
   * Returns up to `limit` accounts that match, oldest or newest first, beginning after the id `after`. A search by name reads the names in
   * that order until it has found enough.
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
      query.whereRaw('INSTR(search_name, ?) > 0', [searchForm(search)]);
    }
    const rows: Row[] = await query;
    return rows.map(toAccount);
  }

  /**
   * Replaces the account with the result of `change`, with the next version. If `change` returns the same object, nothing is written.
   * `change` may run more than once, and if it throws the account is unchanged. Returns undefined when there is none. `audit` runs in the
   * same transaction when a change was written.
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
          search_name: searchForm(after.name),
          state: after.state,
          state_reason: after.stateReason,
          rate_limits: accountRateLimitsColumn(after.rateLimits),
          budgets: budgetsColumn(after.budgets),
          time_zone: after.timeZone,
          never_log_prompts: Number(after.neverLogPrompts),
          require_second_factor: Number(after.requireSecondFactor),
          version,
          change_number: changeNumber,
        });
      assert.equal(updated, 1);
      await audit(tx, before, after);
      return { ...after, version };
    });
  }
}
