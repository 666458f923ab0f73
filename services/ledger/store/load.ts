// Loads the rows that some operations touch, with locks that exclude every other writer of these accounts.
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { textOfRows, keyedText } from '#kit/db/plain/sql-text.js';
import type { Values } from '#kit/db/plain/table.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { correctedSeq, correctionsAmong } from '../books/corrections.js';
import type { Operation } from '../books/model.js';
import { noBudgets } from '../budgets/buckets.js';
import { WorkingSet } from '../lane/working-set.js';
import {
  accountScope,
  baseTable,
  bucketTable,
  bytesOf,
  eachBucket,
  holdTable,
  journalTable,
  noAccount,
  operationId,
  toEntry,
  toHold,
} from './rows.js';
import { AccountColumnsOf } from './account-columns.js';
import { correctingEntries } from './corrections.js';
import type { PathHints } from './path-hints.js';

type Key = readonly [slot: number, first: Buffer, second: Buffer];

const keyedOperations = keyedText(['op.slot', 'op.account_id', 'op.id']);
const selectOperations = textOfRows(
  (rows) =>
    `SELECT op.id, op.fingerprint, ${journalTable.columns.map((column) => `journal.${column}`).join(', ')} FROM op ` +
    'JOIN journal ON journal.slot = op.slot AND journal.account_id = op.account_id AND journal.seq = op.result_seq ' +
    `WHERE ${keyedOperations(rows)}`,
);

const selectEntry = `SELECT ${journalTable.columns.join(', ')} FROM journal WHERE slot = ? AND account_id = ? AND seq = ?`;

/**
 * Returns the working set of the operations. Buckets are locked first and in key order, the account's before those of its keys, so that
 * transactions wait for each other in one direction only. The holder of the lock of an account's bucket is the only writer of
 * its keys, budgets, holds, journal and operations, which therefore need no locks of their own. Holds with the ids `unsearched` are assumed not to exist.
 */
export async function loadWorkingSet(
  tx: PlainTransaction,
  operations: readonly Operation[],
  columns: AccountColumnsOf,
  unsearched: ReadonlySet<string>,
  hints: PathHints,
): Promise<WorkingSet> {
  const set = new WorkingSet();
  const buckets: Key[] = [];
  const holds: Key[] = [];
  const credits: { accountId: string; idempotencyKey: string }[] = [];
  const known = new Set<string>();
  const isNew = (id: string): boolean => {
    if (known.has(id)) return false;
    known.add(id);
    return true;
  };
  for (const operation of operations) {
    const { accountId } = operation;
    const { slot, account_id: account } = columns.of(accountId);
    if (isNew(accountId)) buckets.push([slot, account, accountScope]);
    // Ids of keys and of calls are not secret, and two accounts could name the same id.
    if ('keyId' in operation && operation.keyId !== undefined && isNew(operation.keyId + accountId)) {
      buckets.push([slot, account, bytesOf('key', operation.keyId)]);
    }
    const path = operation.kind === 'hold' ? operation.budgets.map(({ scopeId }) => scopeId) : noBudgets;
    if (operation.kind === 'hold' && path.length > 0) hints.note(accountId, operation.keyId, path);
    for (const scopeId of operation.kind === 'settle' ? hints.of(accountId, operation.keyId) : path)
      if (isNew(scopeId + accountId)) buckets.push([slot, account, Buffer.from(scopeId, 'hex')]);
    if ('holdId' in operation && !unsearched.has(operation.holdId) && isNew(operation.holdId + accountId))
      holds.push([slot, bytesOf('req', operation.holdId), account]);
    if ('idempotencyKey' in operation) credits.push(operation);
  }
  loadBuckets(set, await tx.lock(bucketTable, inOrder(tx, buckets)));
  for (const row of await tx.find(holdTable, holds)) {
    const hold = toHold(row);
    set.of(hold.accountId).holds.load(hold.id, hold);
  }
  // Only the hold knows its budgets, and its key if the operation does not name it.
  const ofHolds: Key[] = [];
  for (const operation of operations) {
    if (!('holdId' in operation)) continue;
    const { accountId, holdId } = operation;
    const hold = set.of(accountId).holds.get(holdId);
    if (hold?.keyId === undefined) continue;
    const { slot, account_id: account } = columns.of(accountId);
    if (isNew(hold.keyId + accountId)) ofHolds.push([slot, account, bytesOf('key', hold.keyId)]);
    // A checkpoint moves no money.
    if (operation.kind === 'checkpoint') continue;
    for (const scopeId of hold.budgets) if (isNew(scopeId + accountId)) ofHolds.push([slot, account, Buffer.from(scopeId, 'hex')]);
  }
  if (ofHolds.length > 0) loadBuckets(set, await tx.lock(bucketTable, inOrder(tx, ofHolds)));
  if (
    operations.some(
      (operation) =>
        operation.kind === 'settle' &&
        !unsearched.has(operation.holdId) &&
        set.of(operation.accountId).holds.get(operation.holdId) === undefined,
    )
  ) {
    const [row] = await tx.find(baseTable, [[noAccount.slot, noAccount.account_id]]);
    set.archivedUntilMs = row === undefined ? undefined : asNumber(row[3]);
  }
  if (credits.length > 0) await loadOperations(tx, set, credits, columns);
  for (const operation of operations) {
    const seq = correctedSeq(operation);
    if (seq === undefined) continue;
    const { accountId } = operation;
    const { corrections, linked } = set.of(accountId);
    if (operation.kind === 'adjust' && !linked.has(seq)) {
      const { slot, account_id: account } = columns.of(accountId);
      const [row] = await tx.query(selectEntry, [slot, account, seq]);
      if (row !== undefined) linked.set(seq, toEntry(journalTable.valuesOf(row)));
    }
    if (corrections.has(seq)) continue;
    const entries = await correctingEntries(tx, columns.of(accountId), seq);
    corrections.set(seq, correctionsAmong(seq, entries));
  }
  return set;
}

function loadBuckets(set: WorkingSet, rows: readonly Values[]): void {
  eachBucket(rows, {
    account: (account) => set.of(account.accountId).account.load(account.accountId, account),
    key: (key) => set.of(key.accountId).keys.load(key.keyId, key),
    budget: (budget) => set.of(budget.accountId).budgets.load(budget.scopeId, budget),
  });
}

/** Sorts keys on engines where others can lock rows too: a SQLite transaction has its file to itself. */
function inOrder(tx: PlainTransaction, keys: Key[]): readonly Key[] {
  if (tx.engine === 'sqlite') return keys;
  return keys.sort((a, b) => a[0] - b[0] || Buffer.compare(a[1], b[1]) || Buffer.compare(a[2], b[2]));
}

async function loadOperations(
  tx: PlainTransaction,
  set: WorkingSet,
  credits: readonly { accountId: string; idempotencyKey: string }[],
  columns: AccountColumnsOf,
): Promise<void> {
  const wanted = new Map<string, { accountId: string; idempotencyKey: string; key: Values }>();
  for (const { accountId, idempotencyKey } of credits) {
    const { slot, account_id: account } = columns.of(accountId);
    const id = operationId(idempotencyKey);
    wanted.set(`${accountId}/${id.toString('hex')}`, { accountId, idempotencyKey, key: [slot, account, id] });
  }
  const rows = await tx.query(
    selectOperations(wanted.size),
    [...wanted.values()].flatMap(({ key }) => key),
  );
  for (const row of rows) {
    const entry = toEntry(journalTable.valuesOf(row));
    const { idempotencyKey } = wanted.get(`${entry.accountId}/${asBytes(row['id']).toString('hex')}`)!;
    const fingerprint = asBytes(row['fingerprint']).toString('hex');
    set.of(entry.accountId).operations.load(idempotencyKey, { accountId: entry.accountId, idempotencyKey, fingerprint, entry });
  }
}
