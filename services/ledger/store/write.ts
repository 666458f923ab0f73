// Writes the changes of a working set: one awaited statement per table and kind of change.
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { Values } from '#kit/db/plain/table.js';
import { isNoted } from '../statements/months.js';
import type { WorkingSet } from '../lane/working-set.js';
import type { AccountColumnsOf } from './account-columns.js';
import {
  bucketTable,
  dueAlertTable,
  fromAccount,
  fromBudget,
  fromDueAlert,
  fromEntry,
  fromHold,
  fromKey,
  fromNoted,
  fromOpening,
  fromOperation,
  holdTable,
  journalTable,
  monthTable,
  noteTable,
  operationTable,
} from './rows.js';

/**
 * Writes the changes. New rows are inserted plainly: a duplicate key means that another writer created the row since it was looked up, and the
 * caller runs the whole transaction again. Changed rows exist and are locked, so they are overwritten.
 */
export async function writeChanges(tx: PlainTransaction, set: WorkingSet, columns: AccountColumnsOf): Promise<void> {
  const newBuckets: Values[] = [];
  const buckets: Values[] = [];
  const newHolds: Values[] = [];
  const holds: Values[] = [];
  const operations: Values[] = [];
  const openings: Values[] = [];
  for (const rows of set.accounts()) {
    const lead = columns.of(rows.accountId);
    rows.account.eachChanged(
      (account) => newBuckets.push(fromAccount(account, lead)),
      (account) => buckets.push(fromAccount(account, lead)),
    );
    for (const opening of rows.account.get(rows.accountId)?.openings ?? []) openings.push(fromOpening(opening, lead));
    rows.keys.eachChanged(
      (key) => newBuckets.push(fromKey(key, lead)),
      (key) => buckets.push(fromKey(key, lead)),
    );
    rows.budgets.eachChanged(
      (budget) => newBuckets.push(fromBudget(budget, lead)),
      (budget) => buckets.push(fromBudget(budget, lead)),
    );
    rows.holds.eachChanged(
      (hold) => newHolds.push(fromHold(hold, lead)),
      (hold) => holds.push(fromHold(hold, lead)),
    );
    rows.operations.eachChanged((record) => operations.push(fromOperation(record, lead)), unchangeable);
  }
  await tx.insert(bucketTable, newBuckets);
  await tx.overwrite(bucketTable, buckets);
  await tx.insert(holdTable, newHolds);
  await tx.overwrite(holdTable, holds);
  await tx.insert(
    journalTable,
    set.entries.map((entry) => fromEntry(entry, columns.of(entry.accountId))),
  );
  await tx.insert(operationTable, operations);
  await tx.insert(
    noteTable,
    set.entries.filter(isNoted).map((entry) => fromNoted(entry, columns.of(entry.accountId))),
  );
  await tx.insert(monthTable, openings);
  await tx.insert(
    dueAlertTable,
    set.dueAlerts.map((alert) => fromDueAlert(alert, columns.of(alert.accountId))),
  );
}

function unchangeable(): never {
  throw new Error('The record of an idempotency key never changes.');
}
