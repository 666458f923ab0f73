// Writes what a working set changed: one awaited statement per table and kind of change.
import type { Knex } from 'knex';
import type { Engine } from '#kit/db/open.js';
import type { WorkingSet } from '../working-set.js';
import { bucketKey, bucketValues, fromAccount, fromEntry, fromHold, fromKey, fromOperation, holdKey, holdValues, type Row } from './rows.js';

/**
 * New rows are inserted plainly: a duplicate key means that another writer created the row since it was looked for, and the
 * caller runs the whole transaction again. Changed rows exist and are locked, so they are written as upserts of many at once.
 */
export async function writeChanges(tx: Knex.Transaction, engine: Engine, set: WorkingSet): Promise<void> {
  const fromBuckets = (accounts: ReturnType<typeof set.accounts.inserted>, keys: ReturnType<typeof set.keys.inserted>): Row[] => [
    ...accounts.map((account) => fromAccount(account, engine)),
    ...keys.map((key) => fromKey(key, engine)),
  ];
  await insert(tx, 'bucket', fromBuckets(set.accounts.inserted(), set.keys.inserted()));
  await update(tx, 'bucket', fromBuckets(set.accounts.updated(), set.keys.updated()), bucketKey, bucketValues);
  await insert(tx, 'hold', set.holds.inserted().map((hold) => fromHold(hold, engine)));
  await update(tx, 'hold', set.holds.updated().map((hold) => fromHold(hold, engine)), holdKey, holdValues);
  await insert(tx, 'journal', set.entries.map((entry) => fromEntry(entry, engine)));
  await insert(tx, 'op', set.operations.inserted().map((record) => fromOperation(record, engine)));
}

async function insert(tx: Knex.Transaction, table: string, rows: Row[]): Promise<void> {
  if (rows.length > 0) await tx(table).insert(rows);
}

async function update(tx: Knex.Transaction, table: string, rows: Row[], key: readonly string[], values: readonly string[]): Promise<void> {
  if (rows.length > 0) await tx(table).insert(rows).onConflict([...key]).merge([...values]);
}
