// The SQL of due alerts of budgets. The charge that makes an alert due writes its row; the transaction that creates its notifications removes it.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { DueAlert } from '../../books/model.js';
import { type StoredBudget, budgetOfText } from '../../budgets/budget-text.js';
import { accountColumns } from '../../store/rows.js';

/** Holds a due alert and its budget. */
export interface DueBudgetAlert extends DueAlert {
  readonly budget: StoredBudget;
}

/** Holds the place where a page ended. */
export interface DuePlace {
  readonly key: readonly [slot: number, account: Buffer, scope: Buffer, percent: number];
}

const key = ['slot', 'account_id', 'scope_id', 'percent'].map((column) => `budget_alert.${column}`);
const pageOf = (after: string): string =>
  `SELECT ${key.join(', ')}, budget_alert.spent_nano_usd, budget_alert.at_ms, bucket.budget FROM budget_alert JOIN bucket ` +
  'ON bucket.slot = budget_alert.slot AND bucket.account_id = budget_alert.account_id AND bucket.scope_id = budget_alert.scope_id' +
  ` ${after} ORDER BY ${key.join(', ')} LIMIT ?`;
const firstPage = pageOf('');
const nextPage = pageOf(`WHERE (${key.join(', ')}) > (?, ?, ?, ?)`);

/** Reads and removes due alerts in a database. */
export class DueAlertStore {
  constructor(private readonly db: Database) {}

  /** Returns at most `limit` due alerts after a place, and the place where they end; undefined at the end of the table. */
  async page(after: DuePlace | undefined, limit: number): Promise<{ due: DueBudgetAlert[]; end: DuePlace | undefined }> {
    const rows = after === undefined ? await this.db.query(firstPage, [limit]) : await this.db.query(nextPage, [...after.key, limit]);
    const last = rows.length < limit ? undefined : rows.at(-1);
    return { due: rows.map(toDue), end: last === undefined ? undefined : { key: keyOf(last) } };
  }

  /** Removes a due alert. Returns false if another process has removed it. */
  async remove(knex: Knex, { accountId, scopeId, percent }: DueAlert): Promise<boolean> {
    const removed = await knex('budget_alert')
      .where({ ...accountColumns(accountId, this.db.engine), scope_id: Buffer.from(scopeId, 'hex'), percent })
      .delete();
    return removed === 1;
  }
}

function keyOf(row: Row): DuePlace['key'] {
  return [asNumber(row['slot']), asBytes(row['account_id']), asBytes(row['scope_id']), asNumber(row['percent'])];
}

function toDue(row: Row): DueBudgetAlert {
  return {
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    scopeId: asBytes(row['scope_id']).toString('hex'),
    percent: asNumber(row['percent']),
    spentNanoUsd: asBigInt(row['spent_nano_usd']),
    atMs: asNumber(row['at_ms']),
    budget: budgetOfText(asText(row['budget'])),
  };
}
