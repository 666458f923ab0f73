// What statements by month read, and the adding up of entries that a version without statements wrote.
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction, Row } from '#kit/db/plain-transaction.js';
import { asBytes, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { BookAccount, type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, MonthOpening, RebuildSums } from '../model.js';
import { effectOf } from '../journal.js';
import { isNoted, sumEntry, wrapped } from '../months.js';
import {
  type AccountColumns,
  accountColumns,
  accountScope,
  baseTable,
  bucketTable,
  fromAccount,
  fromNoted,
  fromOpening,
  journalTable,
  monthTable,
  noteTable,
  toAccount,
  toEntry,
  toOpening,
} from './rows.js';

/** Entries that one transaction adds up at most: bounds how long the account is locked. */
const entriesOfStep = 1000;

/** Which entries of an account: numbers from `fromSeq` and below `endSeq`; of these kinds, or of all when there are none. */
export interface EntryRange {
  readonly fromSeq: bigint;
  readonly endSeq: bigint;
  readonly kinds: readonly EntryKind[];
}

const entriesAfter = `SELECT ${journalTable.columns.join(', ')} FROM journal WHERE slot = ? AND account_id = ? AND seq > ? ORDER BY seq LIMIT ?`;

/** Months over a database. */
export class Months {
  constructor(private readonly db: Database) {}

  /** The account's sums at the beginning of each month that has an entry, oldest first. */
  async openings(accountId: string): Promise<MonthOpening[]> {
    const rows: Row[] = await this.db
      .knex('journal_month')
      .select(...monthTable.columns)
      .where(accountColumns(accountId, this.db.engine))
      .orderBy('month');
    return rows.map((row) => toOpening(monthTable.valuesOf(row)));
  }

  /** At most `limit` entries of the range, in the order of their numbers or against it. */
  async entries(
    accountId: string,
    { fromSeq, endSeq, kinds }: EntryRange,
    options: { oldestFirst: boolean; limit: number },
  ): Promise<Entry[]> {
    const { knex, engine } = this.db;
    const { slot, account_id: account } = accountColumns(accountId, engine);
    // All but charges are noted, so that they are not looked for among a million of those.
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

  /** Accounts with entries that were not added up, in the order of slot and id after this one, at most `limit`. Looks through all accounts. */
  async accountIdsBehind(accountId: string | undefined, limit: number): Promise<string[]> {
    const { knex, engine } = this.db;
    const query = knex('bucket').select('account_id').where({ scope_id: accountScope }).whereNot('summed_seq', knex.ref('seq'));
    if (accountId !== undefined) {
      const { slot, account_id: account } = accountColumns(accountId, engine);
      query.where((after) => after.where('slot', '>', slot).orWhere((same) => same.where({ slot }).where('account_id', '>', account)));
    }
    const rows: Row[] = await query.orderBy(['slot', 'account_id']).limit(limit);
    return rows.map((row) => idFromBytes('acct', asBytes(row['account_id'])));
  }

  /** Adds up the next entries of an account that were not yet, at most a thousand; whether that was all there are, or all that can be. */
  async catchUp(accountId: string): Promise<boolean> {
    return this.db.plainTransaction(async (tx) => {
      const lead = accountColumns(accountId, tx.engine);
      const [row] = await tx.lock(bucketTable, [[lead.slot, lead.account_id, accountScope]]);
      const stored = row === undefined ? undefined : toAccount(row);
      if (stored === undefined || stored.sums.summedSeq === stored.seq) return true;
      let account = await this.summed(tx, stored, lead);
      const rows = await tx.query(entriesAfter, [lead.slot, lead.account_id, account.sums.summedSeq, entriesOfStep]);
      const entries = rows.map((entry) => toEntry(journalTable.valuesOf(entry)));
      for (const entry of entries) account = withEntry(account, entry);
      await tx.insert(
        noteTable,
        entries.filter(isNoted).map((entry) => fromNoted(entry, lead)),
      );
      await tx.insert(
        monthTable,
        (account.openings ?? []).map((opening) => fromOpening(opening, lead)),
      );
      await tx.overwrite(bucketTable, [fromAccount({ ...stored, sums: account.sums }, lead)]);
      // A journal with a gap cannot be added up; Verify tells of it.
      return account.sums.summedSeq === stored.sums.summedSeq || account.sums.summedSeq === stored.seq;
    });
  }

  /** The account as the last entry that was added up left it; if what follows is archived, as the archive's last entry left it. */
  private async summed(tx: PlainTransaction, stored: AccountBucket, { slot, account_id: account }: AccountColumns): Promise<AccountBucket> {
    const { sums } = stored;
    const [base] = await tx.find(baseTable, [[slot, account]]);
    const archived = base === undefined ? undefined : (JSON.parse(asText(base[4])) as RebuildSums);
    if (archived !== undefined && BigInt(archived.seq) > sums.summedSeq) {
      const booked = (book: BookAccount): bigint => BigInt(archived.books[book] ?? 0);
      return {
        ...stored,
        creditedNanoUsd: BigInt(archived.credited),
        spentNanoUsd: BigInt(archived.spent),
        sums: {
          month: sums.month,
          depositedNanoUsd: wrapped(booked(BookAccount.BOOK_ACCOUNT_CASH) + booked(BookAccount.BOOK_ACCOUNT_PROMOTION)),
          refundedNanoUsd: wrapped(booked(BookAccount.BOOK_ACCOUNT_REFUND)),
          summedSeq: BigInt(archived.seq),
        },
      };
    }
    if (sums.summedSeq === 0n) return { ...stored, creditedNanoUsd: 0n, spentNanoUsd: 0n };
    const rows = await tx.query(
      'SELECT credited_after_nano_usd, spent_after_nano_usd FROM journal WHERE slot = ? AND account_id = ? AND seq = ?',
      [slot, account, sums.summedSeq],
    );
    const [last] = rows;
    // Archived to exactly there: then the base says it.
    const [credited, spent] =
      last === undefined ? [archived!.credited, archived!.spent] : [last['credited_after_nano_usd'], last['spent_after_nano_usd']];
    return { ...stored, creditedNanoUsd: BigInt(String(credited)), spentNanoUsd: BigInt(String(spent)) };
  }
}

function withEntry(account: AccountBucket, entry: Entry): AccountBucket {
  const { sums, opening } = sumEntry(account, entry);
  const effect = effectOf(entry);
  return {
    ...account,
    creditedNanoUsd: account.creditedNanoUsd + effect.creditedNanoUsd,
    spentNanoUsd: account.spentNanoUsd + effect.spentNanoUsd,
    sums,
    openings: opening === undefined ? account.openings : [...(account.openings ?? []), opening],
  };
}
