// Books in a database behind the real lane and the real store. Many histories can run on one at the same time, each on accounts of its own,
// and then share transactions as real callers do.
import assert from 'node:assert/strict';
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import { ManualClock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import type { AccountBucket, BudgetBucket, KeyBucket, Operation } from '../books/model.js';
import { createOperationLane, type OperationLane } from '../lane/operation-lane.js';
import { accountColumns, bucketTable, bytesOf, eachBucket, holdTable, journalTable, toEntry, toHold } from '../store/rows.js';
import { createStore, holdWriter, operationsMax, type StoreMemory } from '../store/store.js';
import { PathHints } from '../store/path-hints.js';
import { UnwrittenHolds } from '../lane/unwritten-holds.js';
import type { AccountRows, Books, Crash, Outcome } from './books.js';

/** For operations without audit events. */
export const unaudited = { appendRecords: async (): Promise<void> => undefined, wake: (): void => undefined };

const quiet = { error: () => undefined };

/** How many histories read their rows together: keeps MariaDB's plan for lists of keys (it changes at 500), at 12 holds each. */
const readsMax = 40;

/** The error of a writer that is permanently cut off from its database, with the text of mysql2. */
class Cut extends Error {
  readonly code = 'ECONNREFUSED';
  readonly syscall = 'connect';
  readonly fatal = true;
}

/** A writing process: a lane over a store, which can be made to die. */
class Writer {
  readonly lane: OperationLane;
  /** How the next transactions end. */
  crash: Crash | undefined;
  /** The outcomes that callers did not receive because of a crash. */
  readonly undelivered = new Map<Operation, Outcome>();

  constructor(db: Database, clock: ManualClock, memory: StoreMemory) {
    const fragile: Database = {
      ...db,
      plainTransaction: (work, options) =>
        db.plainTransaction(async (tx) => {
          const result = await work(tx);
          if (this.crash === 'before') throw new Cut();
          return result;
        }, options),
    };
    const store = createStore(fragile, unaudited, memory);
    const execute: typeof store.execute = async (operations, nowMs) => {
      const outcomes = await store.execute(operations, nowMs);
      if (this.crash !== 'after') return outcomes;
      operations.forEach((operation, index) => this.undelivered.set(operation, outcomes[index]! as Outcome));
      throw new Cut();
    };
    const deps = { config: { queueMax: 100_000, lanes: 2 }, engine: db.engine, store: { execute }, clock };
    this.lane = createOperationLane(deps);
  }

  /** Adds operations to the lane, and crashes while it executes them. */
  async crashDuring(operations: readonly Operation[], crash: Crash): Promise<readonly Outcome[] | undefined> {
    this.crash = crash;
    const answers = await Promise.allSettled(operations.map((operation) => this.lane.add(operation)));
    for (const answer of answers)
      assert(answer.status === 'rejected' && answer.reason instanceof Cut, 'a crashed operation got a response');
    return crash === 'before' ? undefined : operations.map((operation) => this.undelivered.get(operation)!);
  }
}

/** Books over a database that has the ledger's tables. */
export class LaneBooks implements Books {
  private readonly clock = new ManualClock();
  private readonly reads: BatchLane<readonly [accountIds: readonly string[], holdIds: readonly string[]], readonly AccountRows[]>;
  private readonly memory: StoreMemory;
  private readonly writeHolds: () => Promise<void>;
  /** The ids of all holds that operations have named. */
  private readonly named = new Set<string>();
  private writer: Writer;

  /** `shared`: several histories run at the same time, so a crash of one must not affect the writer of the others. */
  constructor(
    private readonly db: Database,
    private readonly shared: boolean,
  ) {
    const unwritten = db.engine === 'sqlite' ? new UnwrittenHolds(operationsMax, quiet) : undefined;
    this.memory = { hints: new PathHints(), unwritten };
    this.writeHolds = holdWriter(createStore(db, unaudited, this.memory), this.memory);
    this.writer = this.newWriter();
    this.reads = new BatchLane({
      name: 'reads',
      apply: (wanted) => this.read(wanted),
      isOfOneItem: () => false,
      batchMax: readsMax,
      queueMax: 100_000,
    });
  }

  async execute(operations: readonly Operation[], nowMs: number, crash?: Crash): Promise<readonly Outcome[] | undefined> {
    const timed = operations.map((operation) => this.atOurTime(operation, nowMs));
    if (crash === undefined) {
      const granted = this.grantFirst(timed);
      return [...granted, ...(await Promise.all(timed.slice(granted.length).map((operation) => this.writer.lane.add(operation))))];
    }
    for (const operation of timed) if ('holdId' in operation) this.named.add(operation.holdId);
    const crashing = this.shared ? this.newWriter() : this.writer;
    const outcomes = await crashing.crashDuring(timed, crash);
    if (!this.shared) this.writer = this.newWriter();
    return outcomes;
  }

  async restart(): Promise<void> {
    const { writer } = this;
    this.writer = this.newWriter();
    await writer.lane.idle();
  }

  async rows(accountIds: readonly string[], holdIds: readonly string[]): Promise<readonly AccountRows[]> {
    await this.writeHolds();
    return this.reads.add([accountIds, holdIds]);
  }

  private newWriter(): Writer {
    return new Writer(this.db, this.clock, this.memory);
  }

  /** Grants the holds with which the operations begin without a transaction, where possible, and returns their outcomes. */
  private grantFirst(operations: readonly Operation[]): Outcome[] {
    const outcomes: Outcome[] = [];
    let isFirst = true;
    for (const operation of operations) {
      if (!('holdId' in operation)) {
        isFirst = false;
        continue;
      }
      const isNew = !this.named.has(operation.holdId);
      this.named.add(operation.holdId);
      const granted =
        isFirst && isNew && operation.kind === 'hold'
          ? this.memory.unwritten?.grant(operation, this.clock.nowMs(), this.writeHolds)
          : undefined;
      if (granted === undefined) isFirst = false;
      else outcomes.push(granted);
    }
    return outcomes;
  }

  /**
   * Converts an operation's time. Every history has its own clock, but operations that share a transaction share its time. Only a hold's expiry
   * depends on it, so the difference is added to the time to live.
   */
  private atOurTime(operation: Operation, nowMs: number): Operation {
    return 'ttlMs' in operation ? { ...operation, ttlMs: operation.ttlMs + nowMs - this.clock.nowMs() } : { ...operation };
  }

  private async read(wanted: readonly (readonly [readonly string[], readonly string[]])[]): Promise<(readonly AccountRows[])[]> {
    const { knex, engine } = this.db;
    const accountKeys = wanted.flatMap(([accountIds]) => accountIds.map((accountId) => accountColumns(accountId, engine)));
    const ofAccounts = accountKeys.map(({ slot, account_id: account }) => [slot, account]);
    const ofHolds = wanted.flatMap(([accountIds, holdIds]) =>
      accountIds.flatMap((accountId) => {
        const { slot, account_id: account } = accountColumns(accountId, engine);
        return holdIds.map((holdId) => [slot, bytesOf('req', holdId), account]);
      }),
    );
    const bucketRows: Row[] = await knex('bucket')
      .select(...bucketTable.columns)
      .whereIn(['slot', 'account_id'], ofAccounts);
    const entryRows: Row[] = await knex('journal')
      .select(...journalTable.columns)
      .whereIn(['slot', 'account_id'], ofAccounts)
      .orderBy('seq');
    const holdRows: Row[] = await knex('hold')
      .select(...holdTable.columns)
      .whereIn(['slot', 'id', 'account_id'], ofHolds);
    const accounts = new Map<string, AccountBucket>();
    const keyRows: KeyBucket[] = [];
    const budgetRows: BudgetBucket[] = [];
    eachBucket(
      bucketRows.map((row) => bucketTable.valuesOf(row)),
      {
        account: (account) => accounts.set(account.accountId, account),
        key: (key) => keyRows.push(key),
        budget: (budget) => budgetRows.push(budget),
      },
    );
    const keys = byAccount(keyRows);
    const budgets = byAccount(budgetRows);
    const entries = byAccount(entryRows.map((row) => toEntry(journalTable.valuesOf(row))));
    const holds = byAccount(holdRows.map((row) => toHold(holdTable.valuesOf(row))));
    return wanted.map(([accountIds]) =>
      accountIds.map((accountId) => ({
        accountId,
        account: accounts.get(accountId),
        keys: keys.get(accountId) ?? [],
        budgets: budgets.get(accountId) ?? [],
        holds: holds.get(accountId) ?? [],
        entries: entries.get(accountId) ?? [],
      })),
    );
  }
}

function byAccount<T extends { readonly accountId: string }>(rows: readonly T[]): Map<string, T[]> {
  return Map.groupBy(rows, ({ accountId }) => accountId);
}
