// Writes what a working set changed: one awaited statement per table and kind of change.
import type { Engine } from '#kit/db/open.js';
import type { PlainTransaction, Row } from '#kit/db/plain-transaction.js';
import { insertText, type TextOfRows, upsertText } from '#kit/db/sql-text.js';
import type { WorkingSet } from '../working-set.js';
import {
  bucketColumns, bucketKey, bucketValues, entryColumns, fromAccount, fromEntry, fromHold, fromKey, fromOperation, holdColumns, holdKey, holdValues,
  operationColumns,
} from './rows.js';

const insertBuckets = insertText('bucket', bucketColumns);
const insertHolds = insertText('hold', holdColumns);
const insertEntries = insertText('journal', entryColumns);
const insertOperations = insertText('op', operationColumns);
const updatesOf = (engine: Engine) => ({
  buckets: upsertText(engine, 'bucket', bucketColumns, bucketKey, bucketValues),
  holds: upsertText(engine, 'hold', holdColumns, holdKey, holdValues),
});
const updates = { sqlite: updatesOf('sqlite'), mysql: updatesOf('mysql') } as const satisfies Record<Engine, unknown>;

/**
 * New rows are inserted plainly: a duplicate key means that another writer created the row since it was looked for, and the
 * caller runs the whole transaction again. Changed rows exist and are locked, so they are written as upserts of many at once.
 */
export async function writeChanges(tx: PlainTransaction, set: WorkingSet): Promise<void> {
  const { engine } = tx;
  const fromBuckets = (accounts: ReturnType<typeof set.accounts.inserted>, keys: ReturnType<typeof set.keys.inserted>): Row[] => [
    ...accounts.map((account) => fromAccount(account, engine)),
    ...keys.map((key) => fromKey(key, engine)),
  ];
  await write(tx, insertBuckets, bucketColumns, fromBuckets(set.accounts.inserted(), set.keys.inserted()));
  await write(tx, updates[engine].buckets, bucketColumns, fromBuckets(set.accounts.updated(), set.keys.updated()));
  await write(tx, insertHolds, holdColumns, set.holds.inserted().map((hold) => fromHold(hold, engine)));
  await write(tx, updates[engine].holds, holdColumns, set.holds.updated().map((hold) => fromHold(hold, engine)));
  await write(tx, insertEntries, entryColumns, set.entries.map((entry) => fromEntry(entry, engine)));
  await write(tx, insertOperations, operationColumns, set.operations.inserted().map((record) => fromOperation(record, engine)));
}

async function write(tx: PlainTransaction, text: TextOfRows, columns: readonly string[], rows: readonly Row[]): Promise<void> {
  if (rows.length > 0) await tx.run(text(rows.length), rows.flatMap((row) => columns.map((column) => row[column])));
}
