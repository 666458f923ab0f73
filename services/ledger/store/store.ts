// The ledger's writing store: takes operations, applies them all in one transaction, and returns their outcomes.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { AuditOutbox } from '#kit/audit/audit-outbox.js';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { Applied, CreditReply, Operation, ReplyTo } from '../books/model.js';
import { AccountColumnsOf } from './account-columns.js';
import { loadWorkingSet } from './load.js';
import { PathHints } from './path-hints.js';
import { writeChanges } from './write.js';
import type { UnwrittenHold, UnwrittenHolds } from '../lane/unwritten-holds.js';

/** Maximum number of operations per transaction: bounds how long its locks are held, and keeps MariaDB's plan for lists of keys (it changes at 500). */
export const operationsMax = 200;

/** Two transactions that create the same rows can collide once per row; an account and a key make two, the rest is margin. */
const collisionsMax = 8;

/** The state that the stores of one database keep between transactions. */
export interface StoreMemory {
  readonly hints: PathHints;
  /** The holds that every transaction of the books writes first, if there may be any. */
  readonly unwritten?: UnwrittenHolds | undefined;
}

/** Receives the audit records of operations in their transaction. */
export type AuditAppender = Pick<AuditOutbox, 'appendRecords' | 'wake'>;

/** Applies operations to the books. */
export interface Executor {
  /**
   * Applies at most `operationsMax` operations in order, in one transaction: all outcomes are durable when it returns. When it throws, nothing
   * has happened, or either nothing or everything if the connection was lost. Every operation is refused individually.
   * Passes the outcomes to `onApplied` if they are known before they are durable.
   */
  execute<O extends Operation>(
    operations: readonly O[],
    nowMs: number,
    onApplied?: (outcomes: readonly Applied<ReplyTo<O>>[]) => void,
  ): Promise<Applied<ReplyTo<O>>[]>;
}

/** Creates the store over a database. Raises the driver's errors, which the kit converts for callers (db/failures.ts). */
export function createStore(db: Database, auditLog: AuditAppender, memory: StoreMemory = { hints: new PathHints() }): Executor {
  return {
    async execute<O extends Operation>(
      operations: readonly O[],
      nowMs: number,
      onApplied?: (outcomes: readonly Applied<ReplyTo<O>>[]) => void,
    ) {
      for (let collisions = 0; ; collisions += 1) {
        try {
          const unsearched = collisions === 0 ? newHolds(operations) : none;
          return await executeOnce(db, auditLog, operations, nowMs, onApplied, unsearched, memory);
        } catch (error) {
          if (isDuplicate(error) && collisions < collisionsMax) continue;
          // The database may have failed before the transaction began or after it was committed.
          memory.unwritten?.forget();
          throw error;
        }
      }
    },
  };
}

async function executeOnce<O extends Operation>(
  db: Database,
  auditLog: AuditAppender,
  operations: readonly O[],
  nowMs: number,
  onApplied: ((outcomes: readonly Applied<ReplyTo<O>>[]) => void) | undefined,
  unsearched: ReadonlySet<string>,
  memory: StoreMemory,
): Promise<Applied<ReplyTo<O>>[]> {
  let records: readonly AuditRecord[] = [];
  const apply = async (tx: PlainTransaction): Promise<Applied<ReplyTo<O>>[]> => {
    const outcomes = await applyOperations(tx, operations, nowMs, memory, unsearched);
    records = auditRecords(operations, outcomes);
    if (records.length > 0) await auditLog.appendRecords(tx, records);
    return outcomes;
  };
  // If the outcome of a commit is unknown, its operations are found by their ids and replayed.
  const outcomes = await db.plainTransaction(apply, { isRepeatable: true, onApplied });
  if (records.length > 0) auditLog.wake();
  return outcomes;
}

const none: ReadonlySet<string> = new Set();

/** Returns the ids of holds that no operation but Hold names. Nearly all of them are new, so they are not looked up before they are inserted. */
function newHolds(operations: readonly Operation[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const operation of operations) if (operation.kind === 'hold') ids.add(operation.holdId);
  for (const operation of operations) if ('holdId' in operation && operation.kind !== 'hold') ids.delete(operation.holdId);
  return ids;
}

/**
 * Applies operations within a transaction, without their audit records. `unsearched` are ids of holds that are expected to be new: if one
 * exists, granting it again raises the driver's duplicate error, and the operations must be applied without `unsearched`. The ids of holds that wait are
 * searched only after such a failure.
 */
export async function applyOperations<O extends Operation>(
  tx: PlainTransaction,
  operations: readonly O[],
  nowMs: number,
  memory: StoreMemory,
  unsearched: ReadonlySet<string> = none,
): Promise<Applied<ReplyTo<O>>[]> {
  const waiting = memory.unwritten?.join(tx) ?? [];
  if (waiting.length === 0) return applyAfter(waiting, tx, operations, nowMs, memory, unsearched);
  const expected = waiting.filter(({ mayExist }) => !mayExist).map(({ operation }) => operation.holdId);
  return applyAfter(waiting, tx, operations, nowMs, memory, new Set([...unsearched, ...expected]));
}

/** Applies the operations after the holds that are not written yet. */
async function applyAfter<O extends Operation>(
  waiting: readonly UnwrittenHold[],
  tx: PlainTransaction,
  operations: readonly O[],
  nowMs: number,
  memory: StoreMemory,
  unsearched: ReadonlySet<string>,
): Promise<Applied<ReplyTo<O>>[]> {
  const columns = new AccountColumnsOf(tx.engine);
  const all = waiting.length === 0 ? operations : [...waiting.map(({ operation }) => operation), ...operations];
  const set = await loadWorkingSet(tx, all, columns, unsearched, memory.hints);
  const written = waiting.map((hold) => set.apply(hold.operation, hold.nowMs));
  const outcomes = operations.map((operation) => set.apply(operation, nowMs));
  // A refused hold is not inserted, so only a search shows whether it was granted before.
  const isRefused = ({ refusal }: Applied<unknown>, index: number): boolean => {
    const operation = all[index]!;
    return refusal !== undefined && operation.kind === 'hold' && unsearched.has(operation.holdId);
  };
  if (written.some(isRefused) || outcomes.some((outcome, index) => isRefused(outcome, waiting.length + index)))
    return applyAfter(waiting, tx, operations, nowMs, memory, none);
  await writeChanges(tx, set, columns);
  memory.unwritten?.learn(tx, set);
  return outcomes;
}

/** Returns the function that writes the holds that are not written yet; it does nothing while there are none. */
export function holdWriter(store: Executor, { unwritten }: StoreMemory): () => Promise<void> {
  return async () => {
    if (unwritten !== undefined && unwritten.count > 0) await store.execute([], 0);
  };
}

/** Returns the audit records of the operations that have one and changed something. */
function auditRecords<O extends Operation>(operations: readonly O[], outcomes: readonly Applied<ReplyTo<O>>[]): AuditRecord[] {
  return operations.flatMap((operation, index) => {
    const outcome = outcomes[index]!;
    if (!('audit' in operation) || operation.audit === undefined || outcome.refusal !== undefined) return [];
    const reply = outcome.reply as CreditReply;
    return reply.replayed ? [] : [operation.audit(reply)];
  });
}
