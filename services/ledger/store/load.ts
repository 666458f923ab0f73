// Loads the rows that some operations touch, with the locks that keep every other writer of these accounts away.
import type { Engine } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain-transaction.js';
import { keyedText, textOfRows } from '#kit/db/sql-text.js';
import { asBytes } from '#kit/db/values.js';
import type { Operation } from '../model.js';
import { rowKey, WorkingSet } from '../working-set.js';
import {
  accountColumns, accountScope, bucketColumns, bucketKey, bytesOf, entryColumns, holdColumns, holdKey, isAccountRow, operationId, toAccount, toEntry,
  toHold, toKey,
} from './rows.js';

type Tuple = [number, Buffer, Buffer];

const keyedBuckets = keyedText(bucketKey);
const keyedHolds = keyedText(holdKey);
const keyedOperations = keyedText(['op.slot', 'op.account_id', 'op.id']);
const selectBuckets = textOfRows((rows) => `SELECT ${bucketColumns.join(', ')} FROM bucket WHERE ${keyedBuckets(rows)}`);
const lockBuckets = textOfRows((rows) => `${selectBuckets(rows)} ORDER BY ${bucketKey.join(', ')} FOR UPDATE`);
const selectHolds = textOfRows((rows) => `SELECT ${holdColumns.join(', ')} FROM hold WHERE ${keyedHolds(rows)}`);
const selectOperations = textOfRows(
  (rows) =>
    `SELECT op.id, op.fingerprint, ${entryColumns.map((column) => `journal.${column}`).join(', ')} FROM op ` +
    'JOIN journal ON journal.slot = op.slot AND journal.account_id = op.account_id AND journal.seq = op.result_seq ' +
    `WHERE ${keyedOperations(rows)}`,
);

/**
 * The working set of the operations. Buckets are locked first and in key order, the account's before those of its keys, so that
 * transactions wait for each other in one direction only. Whoever holds the lock of an account's bucket is the only writer of
 * its keys, holds, journal and operations, which therefore need no locks of their own.
 */
export async function loadWorkingSet(tx: PlainTransaction, operations: readonly Operation[]): Promise<WorkingSet> {
  const { engine } = tx;
  const set = new WorkingSet();
  const buckets = new TupleSet();
  const holds = new TupleSet();
  const credits: { accountId: string; idempotencyKey: string }[] = [];
  for (const operation of operations) {
    const { slot, account_id: account } = accountColumns(operation.accountId, engine);
    buckets.add([slot, account, accountScope]);
    if ('keyId' in operation && operation.keyId !== undefined) buckets.add([slot, account, bytesOf('key', operation.keyId)]);
    if ('holdId' in operation) holds.add([slot, bytesOf('req', operation.holdId), account]);
    if ('idempotencyKey' in operation) credits.push(operation);
  }
  await loadBuckets(tx, set, buckets.sorted());
  await loadHolds(tx, set, holds.sorted());
  await loadBuckets(tx, set, keysOfHolds(set, engine, operations, buckets));
  await loadOperations(tx, set, credits);
  return set;
}

async function loadBuckets(tx: PlainTransaction, set: WorkingSet, tuples: Tuple[]): Promise<void> {
  if (tuples.length === 0) return;
  // A transaction on a SQLite file is alone with it, and sorting costs more there than reading.
  const text = tx.engine === 'sqlite' ? selectBuckets : lockBuckets;
  const rows = await tx.query(text(tuples.length), tuples.flat());
  for (const row of rows) {
    if (isAccountRow(row)) {
      const account = toAccount(row);
      set.accounts.load(account.accountId, account);
    } else {
      const key = toKey(row);
      set.keys.load(rowKey(key.accountId, key.keyId), key);
    }
  }
}

async function loadHolds(tx: PlainTransaction, set: WorkingSet, tuples: Tuple[]): Promise<void> {
  if (tuples.length === 0) return;
  const rows = await tx.query(selectHolds(tuples.length), tuples.flat());
  for (const row of rows) {
    const hold = toHold(row);
    set.holds.load(rowKey(hold.accountId, hold.id), hold);
  }
}

/** The buckets of the holds' keys that no operation named: only the hold knows its key. */
function keysOfHolds(set: WorkingSet, engine: Engine, operations: readonly Operation[], known: TupleSet): Tuple[] {
  const found = new TupleSet();
  for (const operation of operations) {
    const keyId = 'holdId' in operation ? set.holds.get(rowKey(operation.accountId, operation.holdId))?.keyId : undefined;
    if (keyId === undefined) continue;
    const { slot, account_id: account } = accountColumns(operation.accountId, engine);
    const tuple: Tuple = [slot, account, bytesOf('key', keyId)];
    if (!known.has(tuple)) found.add(tuple);
  }
  return found.sorted();
}

async function loadOperations(tx: PlainTransaction, set: WorkingSet, credits: readonly { accountId: string; idempotencyKey: string }[]): Promise<void> {
  const wanted = new Map<string, string>();
  const ids = new TupleSet();
  for (const { accountId, idempotencyKey } of credits) {
    const { slot, account_id: account } = accountColumns(accountId, tx.engine);
    const id = operationId(idempotencyKey);
    wanted.set(rowKey(accountId, id.toString('hex')), idempotencyKey);
    ids.add([slot, account, id]);
  }
  if (wanted.size === 0) return;
  const tuples = ids.sorted();
  const rows = await tx.query(selectOperations(tuples.length), tuples.flat());
  for (const row of rows) {
    const entry = toEntry(row);
    const idempotencyKey = wanted.get(rowKey(entry.accountId, asBytes(row['id']).toString('hex')))!;
    const fingerprint = asBytes(row['fingerprint']).toString('hex');
    set.operations.load(rowKey(entry.accountId, idempotencyKey), { accountId: entry.accountId, idempotencyKey, fingerprint, entry });
  }
}

/** Keys of rows without repeats, to be read in key order. */
class TupleSet {
  private readonly tuples = new Map<string, Tuple>();

  add(tuple: Tuple): void {
    this.tuples.set(nameOf(tuple), tuple);
  }

  has(tuple: Tuple): boolean {
    return this.tuples.has(nameOf(tuple));
  }

  sorted(): Tuple[] {
    return [...this.tuples.values()].sort((a, b) => a[0] - b[0] || Buffer.compare(a[1], b[1]) || Buffer.compare(a[2], b[2]));
  }
}

function nameOf([slot, first, second]: Tuple): string {
  return `${slot}/${first.toString('hex')}/${second.toString('hex')}`;
}
