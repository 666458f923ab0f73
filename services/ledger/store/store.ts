// The ledger's writing store: operations go in, one transaction applies them all, their outcomes come out.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { AuditOutbox } from '#kit/audit/audit-outbox.js';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain-transaction.js';
import type { Applied, CreditReply, Operation, ReplyTo } from '../books/model.js';
import { AccountColumnsOf } from './account-columns.js';
import { loadWorkingSet } from './load.js';
import { writeChanges } from './write.js';

/** Most operations of one transaction: bounds how long its locks are held, and keeps MariaDB's plan for lists of keys (it changes at 500). */
export const operationsMax = 200;

/** Two who create the same row can collide once for each row that both create; an account and a key make two, the rest is spare. */
const collisionsMax = 8;

/** Takes the audit records of operations in their transaction. */
export type AuditAppender = Pick<AuditOutbox, 'appendRecords' | 'wake'>;

/** What applies operations to the books. */
export interface Executor {
  /**
   * Applies at most `operationsMax` operations in order, in one transaction: all outcomes are durable when it returns, and
   * nothing has happened when it throws, or nothing or all of it when the connection was lost. Every operation is refused on its own.
   */
  execute<O extends Operation>(operations: readonly O[], nowMs: number): Promise<Applied<ReplyTo<O>>[]>;
}

/** The store over a database. Raises what the driver raises, which callers are told by the kit (db/failures.ts). */
export function createStore(db: Database, auditLog: AuditAppender): Executor {
  return {
    async execute<O extends Operation>(operations: readonly O[], nowMs: number) {
      for (let collisions = 0; ; collisions += 1) {
        try {
          return await executeOnce(db, auditLog, operations, nowMs);
        } catch (error) {
          if (isDuplicate(error) && collisions < collisionsMax) continue;
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
): Promise<Applied<ReplyTo<O>>[]> {
  let records: readonly AuditRecord[] = [];
  const apply = async (tx: PlainTransaction): Promise<Applied<ReplyTo<O>>[]> => {
    const columns = new AccountColumnsOf(tx.engine);
    const set = await loadWorkingSet(tx, operations, columns);
    const outcomes = operations.map((operation) => set.apply(operation, nowMs));
    await writeChanges(tx, set, columns);
    records = auditRecords(operations, outcomes);
    if (records.length > 0) await auditLog.appendRecords(tx, records);
    return outcomes;
  };
  // What a commit of unknown outcome did is found by the operations' ids, and answered as a repeat.
  const outcomes = await db.plainTransaction(apply, { isRepeatable: true });
  if (records.length > 0) auditLog.wake();
  return outcomes;
}

/** The audit records of those operations that have one and did something. */
function auditRecords<O extends Operation>(operations: readonly O[], outcomes: readonly Applied<ReplyTo<O>>[]): AuditRecord[] {
  return operations.flatMap((operation, index) => {
    const outcome = outcomes[index]!;
    if (!('audit' in operation) || operation.audit === undefined || outcome.refusal !== undefined) return [];
    const reply = outcome.reply as CreditReply;
    return reply.replayed ? [] : [operation.audit(reply)];
  });
}
