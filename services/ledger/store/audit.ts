// Queries for Verify, which find what the other queries cannot see because a row is missing or is not where they look for it;
// the archiver lists accounts with them too. Reads take no locks; each is consistent in itself.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { Pacer } from '#kit/scheduling/pacer.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import type { UnexplainedHold } from '../books/model.js';
import { accountColumns, accountScope, holdTable, operationId, toHold } from './rows.js';

/** Holds read at a time on SQLite, which occupies the process meanwhile. */
const holdsPageSize = 500;
/** Its only one. */
const sqliteSlot = 0;

const nextIn = (table: string): string =>
  `SELECT slot, account_id FROM ${table} WHERE slot = ? AND account_id > ? ORDER BY account_id LIMIT 1`;
const nextInBuckets = nextIn('bucket');
const nextInJournal = nextIn('journal');
const selectPageEnd = 'SELECT id FROM hold WHERE slot = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?';

/** Reads the books of a database for Verify. */
export class Audit {
  constructor(private readonly db: Database) {}

  /** Returns ids of accounts in the order of slot and id, after this one, or from the first if undefined. Accounts known only to the journal are included. */
  async accountIdsAfter(accountId: string | undefined, limit: number): Promise<string[]> {
    const rows = await (this.db.engine === 'sqlite'
      ? this.sqliteAccountsAfter(accountId, limit)
      : this.mysqlAccountsAfter(accountId, limit));
    const ids = new Set(rows.sort(inKeyOrder).map((row) => idFromBytes('acct', asBytes(row['account_id']))));
    return [...ids].slice(0, limit);
  }

  /** Finds each account with a lookup of its own: SQLite would read the whole journal for distinct accounts, and its beginning for a condition with "or". */
  private async sqliteAccountsAfter(accountId: string | undefined, limit: number): Promise<Row[]> {
    const rows: Row[] = [];
    for (const select of [nextInBuckets, nextInJournal]) {
      let last = accountId === undefined ? Buffer.alloc(0) : accountColumns(accountId, 'sqlite').account_id;
      for (let count = 0; count < limit; count += 1) {
        const [next] = await this.db.query(select, [sqliteSlot, last]);
        if (next === undefined) break;
        rows.push(next);
        last = asBytes(next['account_id']);
      }
    }
    return rows;
  }

  private async mysqlAccountsAfter(accountId: string | undefined, limit: number): Promise<Row[]> {
    const { knex } = this.db;
    const pageOf = async (query: Knex.QueryBuilder): Promise<Row[]> => {
      query.orderBy(['slot', 'account_id']).limit(limit);
      if (accountId !== undefined) {
        const { slot, account_id: account } = accountColumns(accountId, 'mysql');
        query.where((after) => after.where('slot', '>', slot).orWhere((same) => same.where({ slot }).where('account_id', '>', account)));
      }
      return query;
    };
    return [
      ...(await pageOf(knex('bucket').select('slot', 'account_id').where({ scope_id: accountScope }))),
      ...(await pageOf(knex('journal').distinct('slot', 'account_id'))),
    ];
  }

  /**
   * Returns holds, of one account or of all, with values that none of their entries supports: the captured amount, the key,
   * or that they ended at their checkpoint. At most `limit`. Scans all holds; on SQLite, a page per step of the pacer.
   */
  async unexplainedHolds(accountId: string | undefined, limit: number, pacer: Pacer): Promise<UnexplainedHold[]> {
    const { engine } = this.db;
    const ofAccount = (query: Knex.QueryBuilder): void => {
      if (accountId === undefined) return;
      const { slot, account_id: account } = accountColumns(accountId, engine);
      query.where({ 'hold.slot': slot, 'hold.account_id': account });
    };
    if (engine === 'mysql') return this.unexplainedHoldsOf(ofAccount, limit);
    const found: UnexplainedHold[] = [];
    for (let after: Buffer = Buffer.alloc(0), last: Buffer | undefined; found.length < limit; after = last) {
      const [end] = await this.db.query(selectPageEnd, [sqliteSlot, after, holdsPageSize - 1]);
      last = end === undefined ? undefined : asBytes(end['id']);
      const ofPage = (query: Knex.QueryBuilder): void => {
        ofAccount(query);
        query.where('hold.slot', sqliteSlot).where('hold.id', '>', after);
        if (last !== undefined) query.where('hold.id', '<=', last);
      };
      found.push(...(await this.unexplainedHoldsOf(ofPage, limit - found.length)));
      await pacer.step();
      if (last === undefined) break;
    }
    return found;
  }

  private async unexplainedHoldsOf(limitTo: (query: Knex.QueryBuilder) => void, limit: number): Promise<UnexplainedHold[]> {
    const { knex } = this.db;
    const query = knex('hold')
      .leftJoin('journal', (join) =>
        join.on('journal.slot', 'hold.slot').andOn('journal.account_id', 'hold.account_id').andOn('journal.seq', 'hold.last_seq'),
      )
      .select(...holdTable.columns.map((column) => `hold.${column}`), 'journal.hold_id as entry_hold_id', 'journal.key_id as entry_key_id')
      .where((wrong) =>
        wrong
          .where((none) =>
            none
              .where('hold.last_seq', 0)
              .where((some) =>
                some.where('captured_nano_usd', '>', 0).orWhere('shortfall_nano_usd', '>', 0).orWhere('refunded_nano_usd', '>', 0),
              ),
          )
          .orWhere((named) =>
            named
              .where('hold.last_seq', '>', 0)
              .where((other) =>
                other
                  .whereNull('hold.key_id')
                  .orWhereNull('journal.hold_id')
                  .orWhereNot('journal.hold_id', knex.ref('hold.id'))
                  .orWhereNot('journal.key_id', knex.ref('hold.key_id')),
              ),
          )
          .orWhere((atCheckpoint) =>
            atCheckpoint
              .whereIn('state', [HoldState.HOLD_STATE_RELEASED, HoldState.HOLD_STATE_EXPIRED])
              .whereNot('captured_nano_usd', knex.ref('checkpoint_nano_usd')),
          )
          .orWhereNotIn('state', [
            HoldState.HOLD_STATE_OPEN,
            HoldState.HOLD_STATE_SETTLED,
            HoldState.HOLD_STATE_RELEASED,
            HoldState.HOLD_STATE_EXPIRED,
          ]),
      )
      .limit(limit);
    limitTo(query);
    const rows: Row[] = await query;
    return rows.map((row) => {
      const hold = toHold(holdTable.valuesOf(row));
      const entryHoldId = optional(row['entry_hold_id'], (value) => idFromBytes('req', asBytes(value)));
      const entryKeyId = optional(row['entry_key_id'], (value) => idFromBytes('key', asBytes(value)));
      return { hold, hasItsEntry: hold.lastSeq === 0n || (entryHoldId === hold.id && entryKeyId === hold.keyId) };
    });
  }

  /** Returns the number of the entry to which each of these idempotency keys refers; keys without an entry are left out. */
  async entryNumbers(accountId: string, idempotencyKeys: readonly string[]): Promise<Map<string, bigint>> {
    if (idempotencyKeys.length === 0) return new Map();
    const byId = new Map(idempotencyKeys.map((idempotencyKey) => [operationId(idempotencyKey).toString('hex'), idempotencyKey]));
    const rows: Row[] = await this.db
      .knex('op')
      .select('id', 'result_seq')
      .where(accountColumns(accountId, this.db.engine))
      .whereIn('id', idempotencyKeys.map(operationId));
    return new Map(rows.map((row) => [byId.get(asBytes(row['id']).toString('hex'))!, asBigInt(row['result_seq'])]));
  }
}

function inKeyOrder(a: Row, b: Row): number {
  return Number(a['slot']) - Number(b['slot']) || Buffer.compare(asBytes(a['account_id']), asBytes(b['account_id']));
}
