// Holds that are granted in memory and written with the next transaction of the books. A call whose client receives nothing before its record is
// stored needs no hold on disk until then: if the process dies, the hold and the call are lost together.
import type { Span } from '@opentelemetry/api';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { Logger } from '#kit/log.js';
import { joinBatch, startWait } from '#kit/telemetry/traces/batch-span.js';
import type { Applied, HoldOperation, HoldReply } from '../books/model.js';
import { apply } from '../operations/apply.js';
import { AccountRows, type WorkingSet } from './working-set.js';

/** How long a hold waits for a transaction that would write it, before the ledger begins one for it. */
const waitMsMax = 1000;
/** Maximum number of accounts whose rows are remembered. */
const accountsMax = 10_000;
/** Beyond this number, an account's rows of keys and budgets are forgotten, except those of the last transaction: each budget adds a row in each of its periods. */
const rowsOfAccountMax = 1000;

/** A hold that was granted, and when. */
export interface UnwrittenHold {
  readonly operation: HoldOperation;
  readonly nowMs: number;
  /** Whether a hold with its id may be stored already: a transaction that should have written it failed. */
  readonly mayExist: boolean;
  /** Ends when the hold is written. */
  readonly wait: Span | undefined;
}

/**
 * Grants holds from the rows that the last transaction left. Only for a SQLite file, which no other process writes. A transaction writes the holds
 * that wait by applying them again to the rows that it reads, so what was granted and what is written cannot differ. Ids are not looked up here, because nearly
 * all of them are new: if a stored hold is repeated, it is granted here, but the transaction finds it and holds nothing more.
 */
export class UnwrittenHolds {
  /**
   * By account: its money, keys and budgets after the last transaction and the holds that wait. Empty after a failed transaction, so that nothing is
   * granted while the database fails.
   */
  private readonly known = new Map<string, AccountRows>();
  private waiting: UnwrittenHold[] = [];
  private transactions = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly max: number,
    private readonly log: Pick<Logger, 'error'>,
    /** Reports whether a commit is in progress that holds can share. Under load, that is cheaper: calls that are held together continue together. */
    private readonly isCommitting: () => boolean = () => false,
  ) {}

  /** Returns how many holds wait. */
  get count(): number {
    return this.waiting.length;
  }

  /**
   * Grants a hold, or returns undefined if that takes a transaction: it must be refused, its id waits already, a row of its path is not known, one is
   * being changed, or too many holds wait. Calls `write` if the hold still waits after a second.
   */
  grant(
    operation: HoldOperation,
    nowMs: number,
    write: () => Promise<void>,
  ): (Applied<HoldReply> & { readonly reply: HoldReply }) | undefined {
    if (this.transactions > 0 || this.isCommitting() || this.waiting.length >= this.max) return undefined;
    const rows = this.known.get(operation.accountId);
    if (rows === undefined) return undefined;
    if (this.waiting.some((hold) => hold.operation.holdId === operation.holdId)) return undefined;
    const touched = rows.touchedBy(operation, undefined);
    if (touched.key === undefined || touched.budgets.length < operation.budgets.length) return undefined;
    const applied = apply(touched, operation, nowMs);
    if (applied.refusal !== undefined) return undefined;
    rows.keep({ ...applied.changes, hold: undefined });
    this.waiting.push({ operation, nowMs, mayExist: false, wait: startWait('await transaction') });
    this.timer ??= this.writeLater(write);
    return applied;
  }

  /** Returns the holds that this transaction must write before it does anything else. */
  join(tx: PlainTransaction): readonly UnwrittenHold[] {
    const taken = this.waiting;
    this.waiting = [];
    this.transactions += 1;
    joinBatch(taken.map(({ wait }) => wait));
    tx.onEnd((isCommitted) => {
      this.transactions -= 1;
      if (isCommitted) {
        for (const { wait } of taken) wait?.end();
        return;
      }
      this.waiting = [...taken.map((hold) => ({ ...hold, mayExist: true })), ...this.waiting];
      this.forget();
    });
    return taken;
  }

  /** Remembers the rows that a transaction leaves, once it is committed. */
  learn(tx: PlainTransaction, set: WorkingSet): void {
    tx.onEnd((isCommitted) => {
      if (!isCommitted) return;
      for (const rows of set.accounts()) {
        const { accountId } = rows;
        const before = this.known.get(accountId);
        const isFull = before !== undefined && before.keys.size + before.budgets.size > rowsOfAccountMax;
        const known = before === undefined || isFull ? new AccountRows(accountId) : before;
        known.learn(rows);
        if (this.known.size >= accountsMax && !this.known.has(accountId)) this.known.delete(this.known.keys().next().value!);
        this.known.set(accountId, known);
      }
    });
  }

  /** Grants no hold until a transaction has succeeded. */
  forget(): void {
    this.known.clear();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private writeLater(write: () => Promise<void>): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.timer = undefined;
      if (this.waiting.length === 0) return;
      write().catch((error: unknown) => {
        this.log.error({ err: error, holds: this.waiting.length }, 'granted holds could not be written; this will be retried');
        this.timer ??= this.writeLater(write);
      });
    }, waitMsMax);
    return timer.unref();
  }
}
