// Commits of one SQLite file: all plain transactions that wait at the same moment, of every service that shares the file, share one
// commit and one sync.
import { context, type Span } from '@opentelemetry/api';
import { failActiveSpan, inBatchSpan, inChildSpan } from '../../telemetry/traces/batch-span.js';
import { recordedSpan } from '../../telemetry/traces/recorded-trace.js';
import { nextTurn } from '../../scheduling/turn.js';
import type { PlainTransaction } from '../plain/plain-transaction.js';
import type { ConnectionPool } from '../plain/run-plain.js';
import { type SqliteConnection, SqliteTransaction } from './transaction.js';
import type { WalSync } from './wal-sync.js';

/** A commit waits for at most `turnsMax` turns while work keeps arriving, and begins as soon as it has `gatheredMax` items. */
const turnsMax = 12;
const gatheredMax = 100;
/** If commits carry this many items on average, calls run side by side, and a commit waits for `gatherMs` for what is about to arrive. */
const usualItemsMin = 3;
const gatherMs = 0.5;
/** Weight of the last commit in that average. */
const lastWeight = 1 / 8;

interface Waiting {
  /** Runs the work in the open transaction, and keeps its result. */
  readonly work: (tx: PlainTransaction) => Promise<void>;
  /** The span of its caller, if its trace is recorded. */
  readonly span: Span | undefined;
  /** Called once the result is committed, before it is durable. */
  readonly applied: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Runs plain transactions on one connection. */
export class SqliteCommits {
  private queue: Waiting[] = [];
  private begins: { readonly begin: () => void; readonly waiting: () => number }[] = [];
  private running: Promise<void> | undefined;
  private usualItems = 0;

  /** The connections of the pool do not sync at a commit. Without a log, as of a database in memory, nothing is synced. */
  constructor(
    private readonly pool: ConnectionPool,
    private readonly wal: WalSync | undefined,
    private readonly monotonicMs: () => number,
  ) {}

  /**
   * Runs `work` in the next commit, isolated from failures of the other work in it. Calls `onApplied` once it is committed, and
   * resolves once it is durable. No later transaction begins before that, so that none can return a state that may be lost.
   */
  add<T>(work: (tx: PlainTransaction) => Promise<T>, onApplied: ((result: T) => void) | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T;
      this.queue.push({
        // Spans of its statements belong to the trace of its caller, although another call may begin the transaction.
        work: context.bind(context.active(), async (tx: PlainTransaction) => {
          result = await work(tx);
        }),
        span: recordedSpan(),
        applied: () => onApplied?.(result),
        resolve: () => resolve(result),
        reject,
      });
      this.running ??= this.run();
    });
  }

  /**
   * Resolves when the next commit begins: work that is added without waiting takes part in it. `waiting` returns the number of items that the caller
   * has for it so far.
   */
  turn(waiting: () => number = () => 1): Promise<void> {
    return new Promise((resolve) => {
      this.begins.push({ begin: resolve, waiting });
      this.running ??= this.run();
    });
  }

  /** Reports whether a commit is in progress or awaited. */
  get isBusy(): boolean {
    return this.running !== undefined;
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running;
  }

  private async run(): Promise<void> {
    while (this.queue.length > 0 || this.begins.length > 0) {
      await this.gather();
      for (const { begin } of this.begins.splice(0)) begin();
      // A tick runs after all pending promise callbacks, in which the lanes that have just begun add their work.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const group = this.queue;
      this.queue = [];
      if (group.length === 0) continue;
      const callers = group.map(({ span }) => span);
      await inBatchSpan('commit sqlite', callers, () => this.commit(group));
    }
    this.running = undefined;
  }

  /**
   * Waits for the next turn of the event loop, and for further ones while each brings more work or while calls run side by side: most of the cost of a
   * commit does not depend on how much it carries. A lone call waits for one turn.
   */
  private async gather(): Promise<void> {
    const untilMs = this.usualItems >= usualItemsMin ? this.monotonicMs() + gatherMs : 0;
    let items = this.waiting();
    for (let turns = 1; ; turns += 1) {
      await nextTurn();
      const before = items;
      items = this.waiting();
      if (items >= gatheredMax) break;
      // The turns are not counted meanwhile: without other work, one takes a few microseconds.
      if (this.monotonicMs() < untilMs) continue;
      if (items <= before || turns >= turnsMax) break;
    }
    this.usualItems += (items - this.usualItems) * lastWeight;
  }

  private waiting(): number {
    return this.begins.reduce((sum, { waiting }) => sum + waiting(), this.queue.length);
  }

  private async commit(group: readonly Waiting[]): Promise<void> {
    let committed: readonly Waiting[] = [];
    try {
      const { done, hasWritten } = await this.apply(group);
      committed = done;
      const { wal } = this;
      const synced = hasWritten && wal !== undefined ? inChildSpan('sync sqlite', () => wal.run()) : undefined;
      // Its failure is raised below.
      synced?.catch(() => undefined);
      for (const { applied } of committed) applied();
      await synced;
      for (const { resolve } of committed) resolve();
    } catch (error) {
      failActiveSpan(error);
      for (const { reject } of group) reject(error);
    }
  }

  /** Runs the group in one transaction, and rejects only the work that fails. Throws when nothing is committed. */
  private async apply(group: readonly Waiting[]): Promise<{ done: Waiting[]; hasWritten: boolean }> {
    const connection = (await this.pool.acquireConnection()) as SqliteConnection;
    try {
      return await applyAll(connection, group, this.wal);
    } finally {
      await this.pool.releaseConnection(connection);
    }
  }
}

async function applyAll(
  connection: SqliteConnection,
  group: readonly Waiting[],
  wal: WalSync | undefined,
): Promise<{ done: Waiting[]; hasWritten: boolean }> {
  const outer = new SqliteTransaction(connection);
  const done: Waiting[] = [];
  const transactions: SqliteTransaction[] = [];
  let hasWritten = false;
  try {
    await outer.begin();
    // Before anything is applied, because it fails when the process has too many files open.
    wal?.open();
    for (const waiting of group) {
      const tx = new SqliteTransaction(connection);
      transactions.push(tx);
      const isAlone = group.length === 1;
      try {
        if (!isAlone) await tx.control('SAVEPOINT one');
        await waiting.work(tx);
        tx.assertNoFailure();
        if (!isAlone) await tx.control('RELEASE one');
        hasWritten ||= tx.hasWritten;
        done.push(waiting);
      } catch (error) {
        // Some errors, such as that of a full disk, end the whole transaction.
        if (isAlone || !connection.inTransaction) throw error;
        await outer.control('ROLLBACK TO one');
        await outer.control('RELEASE one');
        tx.end(false);
        waiting.reject(error);
      }
    }
    await outer.control('COMMIT');
    for (const tx of transactions) tx.end(true);
    return { done, hasWritten };
  } catch (error) {
    await outer.abandon();
    for (const tx of transactions) tx.end(false);
    throw error;
  }
}
