// All holds and the whole journal, page by page in key order, for comparison with other books. Reads take
// no locks: holds may change between two pages, entries never do.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Bindings, Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber } from '#kit/db/values.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { HoldRecord } from '../books/model.js';
import { slotCount } from '../books/slot.js';
import { accountColumns, holdTable, journalTable, toEntry, toHold } from './rows.js';

/** Selects holds or entries: of one account or of all, created within an interval; 0 for no bound. */
export interface Extent {
  readonly accountId: string | undefined;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Holds the place where a page of holds ended; ids as 16 bytes. */
export interface HoldPlace {
  readonly slot: number;
  readonly id: Buffer;
  readonly account: Buffer;
}

/** Holds the place where a page of entries ended. */
export interface EntryPlace {
  readonly slot: number;
  readonly account: Buffer;
  readonly seq: bigint;
}

/** Reads pages from a database. */
export class Pages {
  constructor(private readonly db: Database) {}

  /** Returns at most `limit` holds after this place, in the order of slot and id, and the place where the page ends; undefined when there are no more. */
  async holdsAfter(
    extent: Extent,
    place: HoldPlace | undefined,
    limit: number,
  ): Promise<{ holds: HoldRecord[]; next: HoldPlace | undefined }> {
    const only = extent.accountId === undefined ? undefined : accountColumns(extent.accountId, this.db.engine);
    const slots = only === undefined ? Array.from({ length: slotCount[this.db.engine] }, (_, slot) => slot) : [only.slot];
    const rows: Row[] = [];
    // Reads the rest of the slot where the previous page ended, then each of the other slots by number: only within a slot do ids lead the
    // key, and only so is an interval a range of it.
    if (place !== undefined) rows.push(...(await this.holds([place.slot], only?.account_id, extent, limit, place)));
    const others = place === undefined ? slots : slots.filter((slot) => slot > place.slot);
    if (rows.length < limit && others.length > 0) rows.push(...(await this.holds(others, only?.account_id, extent, limit - rows.length)));
    const end = rows.at(-1);
    const isLast = rows.length < limit || end === undefined;
    const next = isLast ? undefined : { slot: asNumber(end['slot']), id: asBytes(end['id']), account: asBytes(end['account_id']) };
    return { holds: rows.map((row) => toHold(holdTable.valuesOf(row))), next };
  }

  /** Returns at most `limit` entries after this place, in the order of slot, account and number, and where the page ends; undefined when there are no more. */
  async entriesAfter(
    extent: Extent,
    place: EntryPlace | undefined,
    limit: number,
  ): Promise<{ entries: Entry[]; next: EntryPlace | undefined }> {
    const rows: Row[] = [];
    for (const limitTo of rangesAfter(place)) {
      if (rows.length === limit) break;
      const query = this.db.knex('journal').select(...journalTable.columns);
      if (extent.accountId !== undefined) query.where(accountColumns(extent.accountId, this.db.engine));
      if (extent.fromMs > 0) query.where('created_at_ms', '>=', extent.fromMs);
      if (extent.untilMs > 0) query.where('created_at_ms', '<', extent.untilMs);
      limitTo(query);
      rows.push(...((await query.orderBy(['slot', 'account_id', 'seq']).limit(limit - rows.length)) as Row[]));
    }
    const end = rows.at(-1);
    const isLast = rows.length < limit || end === undefined;
    const next = isLast ? undefined : { slot: asNumber(end['slot']), account: asBytes(end['account_id']), seq: asBigInt(end['seq']) };
    return { entries: rows.map((row) => toEntry(journalTable.valuesOf(row))), next };
  }

  private holds(
    slots: readonly number[],
    account: Buffer | undefined,
    { fromMs, untilMs }: Extent,
    limit: number,
    after?: HoldPlace,
  ): Promise<Row[]> {
    const firstId = fromMs > 0 ? firstIdAt(fromMs) : undefined;
    // One lower bound: of two, SQLite would read the key from the first.
    const lowestId = after !== undefined && (firstId === undefined || after.id.compare(firstId) > 0) ? after.id : firstId;
    const conditions: [string, Bindings][] = [
      [`slot IN (${slots.map(() => '?').join(', ')})`, slots],
      ...(account === undefined ? [] : [['account_id = ?', [account]] as [string, Bindings]]),
      ...(lowestId === undefined ? [] : [['id >= ?', [lowestId]] as [string, Bindings]]),
      ...(untilMs > 0 ? [['id < ?', [firstIdAt(untilMs)]] as [string, Bindings]] : []),
      ...(after === undefined ? [] : [['(id > ? OR account_id > ?)', [after.id, after.account]] as [string, Bindings]]),
    ];
    const where = conditions.map(([text]) => text).join(' AND ');
    return this.db.query(`SELECT ${holdTable.columns.join(', ')} FROM hold WHERE ${where} ORDER BY slot, id, account_id LIMIT ?`, [
      ...conditions.flatMap(([, values]) => values),
      limit,
    ]);
  }
}

/**
 * Returns what the entries after a place are, in order: the rest of the account, the other accounts of the slot, and the other slots. In one statement with
 * "or", SQLite would read the key from its beginning.
 */
function rangesAfter(place: EntryPlace | undefined): ((query: Knex.QueryBuilder) => void)[] {
  if (place === undefined) return [() => {}];
  const { slot, account, seq } = place;
  return [
    (query) => void query.where({ slot, account_id: account }).where('seq', '>', asNumber(seq)),
    (query) => void query.where({ slot }).where('account_id', '>', account),
    (query) => void query.where('slot', '>', slot),
  ];
}

/** Returns the lowest UUIDv7 of an instant: its milliseconds come first. */
function firstIdAt(ms: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(ms, 0, 6);
  return bytes;
}
