// The books that random histories run on: they execute operations, can crash and restart, and show their rows.
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, Applied, BudgetBucket, HoldRecord, KeyBucket, Operation, ReplyTo } from '../books/model.js';

/** Holds all that is stored about one account. */
export interface AccountRows {
  readonly accountId: string;
  readonly account: AccountBucket | undefined;
  readonly keys: readonly KeyBucket[];
  readonly budgets: readonly BudgetBucket[];
  readonly holds: readonly HoldRecord[];
  /** In the order of their numbers. */
  readonly entries: readonly Entry[];
}

/** When a process dies: before its transaction commits, or after the commit but before any caller gets a reply. */
export type Crash = 'before' | 'after';

export type Outcome = Applied<ReplyTo<Operation>>;

/** Books, in memory or in a database. */
export interface Books {
  /**
   * Applies operations in order. With a crash, the writer dies and another takes over: with "before" nothing has happened and there
   * are no outcomes; with "after" the outcomes are those that no caller received.
   */
  execute(operations: readonly Operation[], nowMs: number, crash?: Crash): Promise<readonly Outcome[] | undefined>;
  /** Stops the writer cleanly, and starts another over the same rows. */
  restart(): Promise<void>;
  /** Returns what is stored about accounts; of their holds only those with these ids. */
  rows(accountIds: readonly string[], holdIds: readonly string[]): Promise<readonly AccountRows[]>;
}
