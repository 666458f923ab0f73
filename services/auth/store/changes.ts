// The order of changes: each change takes the next number of one counter and keeps the counter's row locked until it has committed. So
// numbers become visible in order, and a reader that has seen all up to n finds every later change after n, whatever the clocks show.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asNumber } from '#kit/db/values.js';
import type { WatchKeysResponse_Change } from '#proto/auth/v1/auth.js';
import type { Caller } from '#proto/auth/v1/callers.js';
import { callerColumns, toCaller } from '../callers/caller-rows.js';
import { accountColumns, keyColumns, projectColumns, type Row, toAccount, toKey, toProject } from './rows.js';

/** Holds the current state of a key, project, account or caller that changed. */
export interface Change {
  readonly changed?: WatchKeysResponse_Change['changed'] | { $case: 'caller'; value: Caller };
}

/** Holds some changes in the order in which they were committed. */
export interface ChangeBatch {
  readonly changes: readonly Change[];
  /** The batch is complete up to this number; the next read continues from here. */
  readonly upTo: number;
  /** Whether there are more changes. */
  readonly more: boolean;
}

/** Takes the next number. Call it in the transaction that writes it, just before the write: from here on it blocks other changes. */
export async function nextChangeNumber(tx: Knex.Transaction): Promise<number> {
  const updated = await tx('change_counter').where({ id: 1 }).increment('last_number', 1);
  assert.equal(updated, 1);
  return lastChangeNumber(tx);
}

async function lastChangeNumber(knex: Knex): Promise<number> {
  const row: Row = await knex('change_counter').where({ id: 1 }).first('last_number');
  return asNumber(row['last_number']);
}

/** Reads changes. */
export class ChangeStore {
  constructor(private readonly db: Database) {}

  /** Returns the number of the latest committed change. */
  async lastNumber(): Promise<number> {
    const [row] = await this.db.query('SELECT last_number FROM change_counter WHERE id = 1', []);
    return asNumber(row?.['last_number']);
  }

  /** Returns the current states of what changed after number `after`, at most `changesMax` changes. */
  async changesAfter(after: number, changesMax: number): Promise<ChangeBatch> {
    // Nearly every poll ends here.
    if ((await this.lastNumber()) === after) return { changes: [], upTo: after, more: false };
    // One transaction uses one connection, and so one node of a database that has several.
    return this.db.transaction(async (tx) => {
      const last = await lastChangeNumber(tx);
      if (last === after) return { changes: [], upTo: after, more: false };
      // A number belongs to at most one row, so the width of the range limits the number of rows.
      const upTo = Math.min(last, after + changesMax);
      const keys = await changedRows(tx, 'platform_key', keyColumns, after, upTo);
      const projects = await changedRows(tx, 'project', projectColumns, after, upTo);
      const accounts = await changedRows(tx, 'account', accountColumns, after, upTo);
      const callers = await changedRows(tx, 'caller', callerColumns, after, upTo);
      const numbered = [
        ...keys.map((row) => ({ number: numberOf(row), change: keyChange(row) })),
        ...projects.map((row) => ({ number: numberOf(row), change: projectChange(row) })),
        ...accounts.map((row) => ({ number: numberOf(row), change: accountChange(row) })),
        ...callers.map((row) => ({ number: numberOf(row), change: callerChange(row) })),
      ];
      numbered.sort((a, b) => a.number - b.number);
      return { changes: numbered.map(({ change }) => change), upTo, more: upTo < last };
    });
  }
}

async function changedRows(tx: Knex.Transaction, table: string, columns: readonly string[], after: number, upTo: number): Promise<Row[]> {
  return tx(table)
    .where('change_number', '>', after)
    .andWhere('change_number', '<=', upTo)
    .select('change_number', ...columns);
}

function numberOf(row: Row): number {
  return asNumber(row['change_number']);
}

function keyChange(row: Row): Change {
  return { changed: { $case: 'key', value: toKey(row) } };
}

function projectChange(row: Row): Change {
  return { changed: { $case: 'project', value: toProject(row) } };
}

function accountChange(row: Row): Change {
  return { changed: { $case: 'account', value: toAccount(row) } };
}

function callerChange(row: Row): Change {
  return { changed: { $case: 'caller', value: toCaller(row) } };
}
