// The SQL of monthly statements.
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import type { Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import type { MonthOpening } from '../books/model.js';
import { isNoted } from '../statements/months.js';
import { accountColumns, journalTable, monthTable, toEntry, toOpening } from './rows.js';

/** Selects entries of an account: numbers from `fromSeq` and below `endSeq`; of these kinds, or of all if empty. */
export interface EntryRange {
  readonly fromSeq: bigint;
  readonly endSeq: bigint;
  readonly kinds: readonly EntryKind[];
}

/** Reads months from a database. */
export class Months {
  constructor(private readonly db: Database) {}

  /** Returns the account's sums at the beginning of each month that has an entry, oldest first. */
  async openings(accountId: string): Promise<MonthOpening[]> {
    const rows: Row[] = await this.db
      .knex('journal_month')
      .select(...monthTable.columns)
      .where(accountColumns(accountId, this.db.engine))
      .orderBy('month');
    return rows.map((row) => toOpening(monthTable.valuesOf(row)));
  }

  /** Returns at most `limit` entries of the range, in ascending or descending order of their numbers. */
  async entries(
    accountId: string,
    { fromSeq, endSeq, kinds }: EntryRange,
    options: { oldestFirst: boolean; limit: number },
  ): Promise<Entry[]> {
    const { knex, engine } = this.db;
    const { slot, account_id: account } = accountColumns(accountId, engine);
    // All kinds but charges are in journal_note, so that their entries are found without searching a million charges.
    const isOfNotes = kinds.length > 0 && kinds.every((kind) => isNoted({ kind }));
    const table = isOfNotes ? 'journal_note' : 'journal';
    const query = knex('journal').select(...journalTable.columns.map((column) => `journal.${column}`));
    if (isOfNotes) {
      query.innerJoin('journal_note', (join) =>
        join
          .on('journal.slot', 'journal_note.slot')
          .andOn('journal.account_id', 'journal_note.account_id')
          .andOn('journal.seq', 'journal_note.seq'),
      );
    }
    query.where({ [`${table}.slot`]: slot, [`${table}.account_id`]: account });
    if (kinds.length > 0) query.whereIn(`${table}.kind`, [...kinds]);
    query.where(`${table}.seq`, '>=', Number(fromSeq)).where(`${table}.seq`, '<', Number(endSeq));
    const rows: Row[] = await query.orderBy(`${table}.seq`, options.oldestFirst ? 'asc' : 'desc').limit(options.limit);
    return rows.map((row) => toEntry(journalTable.valuesOf(row)));
  }
}
