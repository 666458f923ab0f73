// Queries about the books that do not change them. Reads take no locks.
import { oldestMessageAtMs } from '#kit/outbox/outbox.js';
import { notificationOutbox } from '../alerts/notification-outbox.js';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { type ProcessInfo, processInfo } from '#kit/process/process-info.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, AccountSnapshot, BudgetBucket, HoldRecord, KeyBucket, RebuildSums } from '../books/model.js';
import { correctingEntries } from './corrections.js';
import { isOpen } from './hold-conditions.js';
import {
  type AccountColumns,
  accountColumns,
  accountScope,
  bucketTable,
  bytesOf,
  eachBucket,
  holdTable,
  journalTable,
  monthTable,
  noAccount,
  operationId,
  toAccount,
  toEntry,
  toHold,
  toKey,
  toOpening,
} from './rows.js';

/** Names a hold together with its account. */
export interface HoldName {
  readonly accountId: string;
  readonly holdId: string;
}

/** Holds the place after an open hold, among those of its account. */
export type OpenHoldPlace = Pick<HoldRecord, 'createdAtMs' | 'id'>;

/** MariaDB's plan for lists of keys changes at 500; see `operationsMax`. */
const namesPerStatement = 200;

const selectEntries =
  `SELECT ${journalTable.columns.join(', ')} FROM journal` +
  ' WHERE slot = ? AND account_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?';

/** Reads from a database. */
export class Reads {
  constructor(private readonly db: Database) {}

  /** Returns an account's bucket; undefined if nothing was ever written about the account. */
  async account(accountId: string): Promise<AccountBucket | undefined> {
    const row: Row | undefined = await this.buckets(accountId).where({ scope_id: accountScope }).first();
    return row === undefined ? undefined : toAccount(bucketTable.valuesOf(row));
  }

  /** Returns several accounts by id; those that never had money are left out. */
  async accounts(accountIds: readonly string[]): Promise<Map<string, AccountBucket>> {
    const keys = accountIds.map((accountId) => accountColumns(accountId, this.db.engine));
    const rows: Row[] = await this.db
      .knex('bucket')
      .select(...bucketTable.columns)
      // Including the slots, so that the primary key is used.
      .whereIn(
        ['slot', 'account_id', 'scope_id'],
        keys.map(({ slot, account_id }) => [slot, account_id, accountScope]),
      );
    return new Map(rows.map((row) => toAccount(bucketTable.valuesOf(row))).map((account) => [account.accountId, account]));
  }

  /** Returns the keys that were ever used, or those of `keyIds` among them; in the order of their ids, at most `limit`. */
  async keys(accountId: string, keyIds: readonly string[], limit: number): Promise<KeyBucket[]> {
    const query = this.buckets(accountId).orderBy('scope_id').limit(limit);
    if (keyIds.length > 0)
      query.whereIn(
        'scope_id',
        keyIds.map((keyId) => bytesOf('key', keyId)),
      );
    else query.whereNot({ scope_id: accountScope }).whereNull('budget');
    const rows: Row[] = await query;
    return rows.map((row) => toKey(bucketTable.valuesOf(row)));
  }

  /** Returns the buckets of budgets with these scopes, by scope; leaves out those in which nothing was ever held. */
  async budgets(accountId: string, scopeIds: readonly string[]): Promise<Map<string, BudgetBucket>> {
    const rows: Row[] = await this.buckets(accountId).whereIn(
      'scope_id',
      scopeIds.map((scopeId) => Buffer.from(scopeId, 'hex')),
    );
    return new Map(sortedBuckets(rows).budgets.map((bucket) => [bucket.scopeId, bucket]));
  }

  /** Returns a hold; undefined if it is unknown. */
  async hold(accountId: string, holdId: string): Promise<HoldRecord | undefined> {
    const row: Row | undefined = await this.db
      .knex('hold')
      .select(...holdTable.columns)
      .where({ ...accountColumns(accountId, this.db.engine), id: bytesOf('req', holdId) })
      .first();
    return row === undefined ? undefined : toHold(holdTable.valuesOf(row));
  }

  /** Returns the existing holds among these names, in no order. */
  async holdsByName(names: readonly HoldName[]): Promise<HoldRecord[]> {
    const found: HoldRecord[] = [];
    for (let start = 0; start < names.length; start += namesPerStatement) {
      const keys = names.slice(start, start + namesPerStatement).map(({ accountId, holdId }) => {
        const { slot, account_id: account } = accountColumns(accountId, this.db.engine);
        return [slot, bytesOf('req', holdId), account];
      });
      found.push(...(await this.db.find(holdTable, keys)).map(toHold));
    }
    return found;
  }

  /** Returns the open holds of an account, oldest first. Scans all open holds, of which there are as many as calls in flight. */
  async openHolds(accountId: string, after: OpenHoldPlace | undefined, limit: number): Promise<HoldRecord[]> {
    const query = openHoldsOf(this.db.knex, accountColumns(accountId, this.db.engine));
    if (after !== undefined) {
      const { createdAtMs, id } = after;
      query.where((later) =>
        later
          .where('created_at_ms', '>', createdAtMs)
          .orWhere((same) => same.where({ created_at_ms: createdAtMs }).where('id', '>', bytesOf('req', id))),
      );
    }
    const rows: Row[] = await query.orderBy(['created_at_ms', 'id']).limit(limit);
    return rows.map((row) => toHold(holdTable.valuesOf(row)));
  }

  /** Returns open holds whose expiry is at or before this instant, the longest expired first; not those of the accounts `except`. */
  async expiredHolds(expiredAtMs: number, except: readonly string[], limit: number): Promise<HoldName[]> {
    const others = except.length === 0 ? '' : ` AND account_id NOT IN (${except.map(() => '?').join(', ')})`;
    const rows = await this.db.query(
      `SELECT id, account_id FROM hold WHERE ${isOpen} AND expires_at_ms <= ?${others} ORDER BY expires_at_ms LIMIT ?`,
      [expiredAtMs, ...except.map((accountId) => bytesOf('acct', accountId)), limit],
    );
    return rows.map((row) => ({
      accountId: idFromBytes('acct', asBytes(row['account_id'])),
      holdId: idFromBytes('req', asBytes(row['id'])),
    }));
  }

  /** Returns when the oldest open hold was created; 0 when none is open. Scans all open holds, of which there are as many as calls in flight. */
  async oldestOpenHoldAtMs(): Promise<bigint> {
    const [row]: Row[] = await this.db.knex('hold').whereRaw(isOpen).min({ oldest: 'created_at_ms' });
    return asBigInt(row?.['oldest'] ?? 0n);
  }

  /** Returns when the oldest notification that auth has not received was created, in epoch milliseconds; 0 if auth has received all. */
  async oldestUnshippedNotificationAtMs(): Promise<bigint> {
    return BigInt(await oldestMessageAtMs(this.db.knex, notificationOutbox));
  }

  /** Returns information about this process and its database. */
  processInfo(): Promise<ProcessInfo> {
    return processInfo(this.db, 'the ledger');
  }

  /** Returns how many holds are open, and how many of them are past their expiry. */
  async countOpenHolds(nowMs: number): Promise<{ open: number; pastExpiry: number }> {
    const count = this.db.knex('hold').whereRaw(isOpen).count({ holds: '*' });
    const [open]: Row[] = await count.clone();
    const [pastExpiry]: Row[] = await count.clone().where('expires_at_ms', '<', nowMs);
    return { open: asNumber(open?.['holds'] ?? 0), pastExpiry: asNumber(pastExpiry?.['holds'] ?? 0) };
  }

  /** Returns the entry that the deposit, adjustment or refund with this idempotency key created. */
  async entryOf(accountId: string, idempotencyKey: string): Promise<Entry | undefined> {
    const id = operationId(idempotencyKey);
    const made: Row | undefined = await this.db
      .knex('op')
      .select('result_seq')
      .where({ ...accountColumns(accountId, this.db.engine), id })
      .first();
    if (made === undefined) return undefined;
    const row: Row | undefined = await this.entries(accountId)
      .where({ seq: asNumber(made['result_seq']) })
      .first();
    return row === undefined ? undefined : toEntry(journalTable.valuesOf(row));
  }

  /** Returns at most `limit` entries above a number and up to another, oldest first. */
  async entriesBetween(accountId: string, afterSeq: bigint, lastSeq: bigint, limit: number): Promise<Entry[]> {
    const { slot, account_id: account } = accountColumns(accountId, this.db.engine);
    const rows = await this.db.query(selectEntries, [slot, account, asNumber(afterSeq), asNumber(lastSeq), limit]);
    return rows.map((row) => toEntry(journalTable.valuesOf(row)));
  }

  /** Returns the corrections of the entry with this number, oldest first. */
  corrections(accountId: string, seq: bigint): Promise<Entry[]> {
    return correctingEntries(this.db, accountColumns(accountId, this.db.engine), seq);
  }

  /** Returns an account with its keys and open holds, all as of one instant. */
  async snapshot(accountId: string): Promise<AccountSnapshot> {
    // A repeatable read shows every statement the same state without blocking writers; SQLite always does so.
    const isolation = this.db.engine === 'mysql' ? ({ isolationLevel: 'repeatable read' } as const) : {};
    const work = async (tx: Knex.Transaction): Promise<AccountSnapshot> => {
      const where = accountColumns(accountId, this.db.engine);
      const bucketRows: Row[] = await tx('bucket')
        .select(...bucketTable.columns)
        .where(where);
      const holds: Row[] = await openHoldsOf(tx, where);
      const last: Row | undefined = await tx('journal').select('seq').where(where).orderBy('seq', 'desc').first();
      const months: Row[] = await tx('journal_month')
        .select(...monthTable.columns)
        .where(where)
        .orderBy('month');
      const base = toBase(await tx('journal_base').select('sums').where(where).first());
      return {
        ...sortedBuckets(bucketRows),
        openHolds: holds.map((row) => toHold(holdTable.valuesOf(row))),
        // The newest entry of the journal may be archived.
        lastSeq: most(asBigInt(last?.['seq'] ?? 0n), BigInt(base?.seq ?? 0)),
        base,
        openings: months.map((row) => toOpening(monthTable.valuesOf(row))),
      };
    };
    return this.db.knex.transaction(work, isolation);
  }

  /** Returns when the first entry after this number was created; infinity when there is none. */
  async createdAtMsAfter(accountId: string, seq: bigint): Promise<number> {
    const where = accountColumns(accountId, this.db.engine);
    const row: Row | undefined = await this.db
      .knex('journal')
      .select('created_at_ms')
      .where(where)
      .where('seq', '>', asNumber(seq))
      .orderBy('seq')
      .first();
    return row === undefined ? Number.POSITIVE_INFINITY : asNumber(row['created_at_ms']);
  }

  /** Returns what the archived beginning of an account's journal adds up to; undefined while none of it is archived. */
  async base(accountId: string): Promise<RebuildSums | undefined> {
    return toBase(await this.db.knex('journal_base').select('sums').where(accountColumns(accountId, this.db.engine)).first());
  }

  /** Returns the number of the last archived entry; 0 for none. */
  async baseSeq(accountId: string): Promise<bigint> {
    const row: Row | undefined = await this.db.knex('journal_base').select('seq').where(accountColumns(accountId, this.db.engine)).first();
    return asBigInt(row?.['seq'] ?? 0n);
  }

  /** Returns the instant before which holds may be archived, by their last entry; 0 if nothing is. */
  async archivedUntilMs(): Promise<bigint> {
    const row: Row | undefined = await this.db
      .knex('journal_base')
      .select('until_ms')
      .where({ ...noAccount })
      .first();
    return asBigInt(row?.['until_ms'] ?? 0n);
  }

  private buckets(accountId: string) {
    return this.db
      .knex('bucket')
      .select(...bucketTable.columns)
      .where(accountColumns(accountId, this.db.engine));
  }

  private entries(accountId: string) {
    return this.db
      .knex('journal')
      .select(...journalTable.columns)
      .where(accountColumns(accountId, this.db.engine));
  }
}

/** Returns a query for the open holds of an account. The "+" keeps SQLite from reading all holds of the slot, instead of the index of open ones. */
function openHoldsOf(from: Knex, { slot, account_id: account }: AccountColumns): Knex.QueryBuilder {
  return from('hold')
    .select(...holdTable.columns)
    .whereRaw(`${isOpen} AND +slot = ? AND account_id = ?`, [slot, account]);
}

function sortedBuckets(rows: readonly Row[]): Pick<AccountSnapshot, 'account' | 'keys' | 'budgets'> {
  let account: AccountBucket | undefined;
  const keys: KeyBucket[] = [];
  const budgets: BudgetBucket[] = [];
  eachBucket(
    rows.map((row) => bucketTable.valuesOf(row)),
    { account: (found) => (account = found), key: (key) => keys.push(key), budget: (budget) => budgets.push(budget) },
  );
  return { account, keys, budgets };
}

function toBase(row: Row | undefined): RebuildSums | undefined {
  return row === undefined ? undefined : (JSON.parse(asText(row['sums'])) as RebuildSums);
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
