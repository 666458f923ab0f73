// Reads and removes rows for the archiver. Only this file ever deletes rows of the books.
import { endedWithoutEntry } from './hold-conditions.js';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/plain/sql-text.js';
import { asBigInt, asNumber } from '#kit/db/values.js';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import type { RebuildSums } from '../books/model.js';
import { accountColumns, accountScope, baseTable, bucketTable, bytesOf, holdTable, noAccount, toHold } from './rows.js';

/** Holds the beginning of an account's journal that is in the archive's files and is to be removed from the database. */
export interface ArchivedPart {
  readonly accountId: string;
  /** The number of the last previously archived entry. */
  readonly afterSeq: bigint;
  readonly lastSeq: bigint;
  /** All of its entries were written before this instant. */
  readonly untilMs: number;
  /** Holds to which its entries refer. */
  readonly holdIds: readonly string[];
  readonly sums: RebuildSums;
  /** What its entries add to the spend of budgets, by the scopes of their buckets. */
  readonly budgetSpend: ReadonlyMap<string, bigint>;
}

/** As many as MariaDB's plan for lists of keys allows; see `operationsMax`. */
const holdsPerStatement = 200;
const ofRange = 'slot = ? AND account_id = ? AND seq > ? AND seq <= ?';
/** The kinds of entries that have a note and no idempotency key. */
const removedNotes = [EntryKind.ENTRY_KIND_SHORTFALL, EntryKind.ENTRY_KIND_CHARGE_CORRECTION];
const keyedHolds = keyedText(holdTable.key);
const deleteHolds = textOfRows((rows) => `DELETE FROM hold WHERE ${keyedHolds(rows)}`);

/** Removes archived rows from a database. */
export class ArchiveStore {
  constructor(private readonly db: Database) {}

  /**
   * Removes what is archived: charges and their corrections, and ended holds to which no later entry refers. Deposits, adjustments and
   * refunds stay, because their idempotency keys refer to them. Returns false when another replica has archived this account meanwhile, or when one of
   * the calls was refunded or settled since its entries were read, so that the sums would be incomplete.
   */
  async remove(part: ArchivedPart): Promise<boolean> {
    return this.db.plainTransaction(async (tx) => {
      const { slot, account_id: account } = accountColumns(part.accountId, tx.engine);
      // Every writer of an account's rows holds the lock of its bucket.
      await tx.lock(bucketTable, [[slot, account, accountScope]]);
      const [base] = await tx.find(baseTable, [[slot, account]]);
      if (asBigInt(base?.[2] ?? 0n) !== part.afterSeq) return false;
      const holds = (
        await tx.find(
          holdTable,
          part.holdIds.map((holdId) => [slot, bytesOf('req', holdId), account]),
        )
      ).map(toHold);
      if (holds.some(({ id, lastSeq }) => lastSeq > part.lastSeq && part.sums.holds[id] === undefined)) return false;
      const range = [slot, account, part.afterSeq, part.lastSeq];
      await tx.run(`DELETE FROM journal WHERE ${ofRange} AND idempotency_key IS NULL`, range);
      await tx.run(`DELETE FROM journal_note WHERE ${ofRange} AND kind IN (${removedNotes.join(', ')})`, range);
      const ended = holds.filter(({ state, lastSeq }) => state !== HoldState.HOLD_STATE_OPEN && lastSeq <= part.lastSeq);
      for (let start = 0; start < ended.length; start += holdsPerStatement) {
        const keys = ended.slice(start, start + holdsPerStatement).map(({ id }) => [slot, bytesOf('req', id), account]);
        await tx.run(deleteHolds(keys.length), keys.flat());
      }
      for (const [scopeId, spentNanoUsd] of part.budgetSpend) {
        await tx.run('UPDATE bucket SET archived_nano_usd = archived_nano_usd + ? WHERE slot = ? AND account_id = ? AND scope_id = ?', [
          spentNanoUsd,
          slot,
          account,
          Buffer.from(scopeId, 'hex'),
        ]);
      }
      const row = [slot, account, part.lastSeq, part.untilMs, JSON.stringify(part.sums)];
      if (base === undefined) await tx.insert(baseTable, [row]);
      else await tx.overwrite(baseTable, [row]);
      return true;
    });
  }

  /** Records that rows older than this instant may be gone; the recorded instant only moves forward. */
  async noteUntil(untilMs: number): Promise<void> {
    const key = [noAccount.slot, noAccount.account_id];
    const note = () =>
      this.db.plainTransaction(async (tx) => {
        const [known] = await tx.lock(baseTable, [key]);
        const row = [...key, 0n, untilMs, ''];
        if (known === undefined) await tx.insert(baseTable, [row]);
        else if (asNumber(known[3]) < untilMs) await tx.overwrite(baseTable, [row]);
      });
    await note().catch((error: unknown) => {
      // Another replica recorded it first; now there is a row to lock.
      if (isDuplicate(error)) return note();
      throw error;
    });
  }

  /** Removes at most `limit` holds that ended before this instant and moved no money, so that no entry refers to them. Returns how many. */
  async removeHoldsWithoutEntries(untilMs: number, limit: number): Promise<number> {
    const { knex } = this.db;
    const rows: Row[] = await knex('hold')
      .select('slot', 'id', 'account_id')
      .whereRaw(endedWithoutEntry)
      .where('expires_at_ms', '<', untilMs)
      .limit(limit);
    if (rows.length === 0) return 0;
    await this.db.plainTransaction(async (tx) => {
      for (const row of rows) {
        // A hold that was settled since it was read stays.
        await tx.run(`DELETE FROM hold WHERE slot = ? AND id = ? AND account_id = ? AND ${endedWithoutEntry}`, [
          row['slot'],
          row['id'],
          row['account_id'],
        ]);
      }
    });
    return rows.length;
  }
}
