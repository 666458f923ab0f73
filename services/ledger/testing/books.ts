// What random histories run on: books that operations can be executed on, that can crash and start again, and whose rows can be read.
import type { Entry } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, Applied, HoldRecord, KeyBucket, Operation, ReplyTo } from '../books/model.js';

/** All that is stored about one account. */
export interface AccountRows {
  readonly accountId: string;
  readonly account: AccountBucket | undefined;
  readonly keys: readonly KeyBucket[];
  readonly holds: readonly HoldRecord[];
  /** In the order of their numbers. */
  readonly entries: readonly Entry[];
}

/** When a process dies: before its transaction commits, or after that but before anybody is told. */
export type Crash = 'before' | 'after';

export type Outcome = Applied<ReplyTo<Operation>>;

/** Books, in memory or in a database. */
export interface Books {
  /**
   * Applies operations in order. Given a crash, the writer dies so and another takes over: "before" nothing has happened and there
   * are no outcomes; "after" there are those that nobody was told.
   */
  execute(operations: readonly Operation[], nowMs: number, crash?: Crash): Promise<readonly Outcome[] | undefined>;
  /** Ends the writer in order, and starts another over the same rows. */
  restart(): Promise<void>;
  /** What is stored about accounts; of their holds those with these ids. */
  rows(accountIds: readonly string[], holdIds: readonly string[]): Promise<readonly AccountRows[]>;
}
