// The rows of one transaction in memory: operations are applied one after another, each seeing the effects of those before it.
import { apply } from '../operations/apply.js';
import { emptyAccount } from '../books/buckets.js';
import { correctedSeq, correctionsAmong } from '../books/corrections.js';
import { noBudgets } from '../budgets/buckets.js';
import type {
  AccountBucket,
  Applied,
  BudgetBucket,
  Changes,
  CorrectedEntry,
  Corrections,
  DueAlert,
  HoldRecord,
  KeyBucket,
  Operation,
  OperationRecord,
  ReplyTo,
  Touched,
} from '../books/model.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';

interface Cell<T> {
  row: T;
  readonly isStored: boolean;
  isChanged: boolean;
}

/** Holds rows of one kind by id, and tracks which are new and which have changed since they were loaded. */
export class Rows<T> {
  private readonly cells = new Map<string, Cell<T>>();

  get size(): number {
    return this.cells.size;
  }

  /** Adds a row that the database has. */
  load(id: string, row: T): void {
    this.cells.set(id, { row, isStored: true, isChanged: false });
  }

  /** Adds the rows of others, in place of those with the same ids. */
  loadAll(others: Rows<T>): void {
    for (const [id, { row }] of others.cells) this.load(id, row);
  }

  get(id: string): T | undefined {
    return this.cells.get(id)?.row;
  }

  put(id: string, row: T): void {
    const cell = this.cells.get(id);
    if (cell === undefined) {
      this.cells.set(id, { row, isStored: false, isChanged: true });
    } else {
      cell.row = row;
      cell.isChanged = true;
    }
  }

  /** Passes every changed row to `inserted` when the database does not have it yet, else to `updated`. */
  eachChanged(inserted: (row: T) => void, updated: (row: T) => void): void {
    for (const { row, isStored, isChanged } of this.cells.values()) {
      if (isChanged) (isStored ? updated : inserted)(row);
    }
  }
}

/** Holds one account's rows, as far as the operations touch them. */
export class AccountRows {
  /** The one row of the account itself, under its id. */
  readonly account = new Rows<AccountBucket>();
  readonly keys = new Rows<KeyBucket>();
  /** By scope. */
  readonly budgets = new Rows<BudgetBucket>();
  readonly holds = new Rows<HoldRecord>();
  /** By idempotency key. */
  readonly operations = new Rows<OperationRecord>();
  /** By the number of the corrected entry: of those entries that an operation corrects. */
  readonly corrections = new Map<bigint, Corrections>();
  /** By number: the entries to which an adjustment is linked. */
  readonly linked = new Map<bigint, CorrectedEntry>();

  constructor(readonly accountId: string) {}

  /** Returns the rows that an operation reads and may change. */
  touchedBy(operation: Operation, archivedUntilMs: number | undefined): Touched {
    const hold = 'holdId' in operation ? this.holds.get(operation.holdId) : undefined;
    const seq = correctedSeq(operation);
    const keyId = hold?.keyId ?? ('keyId' in operation ? operation.keyId : undefined);
    return {
      account: this.account.get(this.accountId),
      key: keyId === undefined ? undefined : this.keys.get(keyId),
      budgets: this.budgetsOf(hold?.budgets ?? ('budgets' in operation ? operation.budgets : noBudgets)),
      hold,
      record: 'idempotencyKey' in operation ? this.operations.get(operation.idempotencyKey) : undefined,
      linked: seq === undefined ? undefined : this.linked.get(seq),
      corrections: seq === undefined ? undefined : this.corrections.get(seq),
      archivedUntilMs,
    };
  }

  /** Adds the account's money, keys and budgets from other rows, in place of those with the same ids. */
  learn({ account, keys, budgets }: AccountRows): void {
    this.account.loadAll(account);
    this.keys.loadAll(keys);
    this.budgets.loadAll(budgets);
  }

  private budgetsOf(path: readonly (string | { readonly scopeId: string })[]): readonly BudgetBucket[] {
    if (path.length === 0) return noBudgets;
    return path
      .map((budget) => this.budgets.get(typeof budget === 'string' ? budget : budget.scopeId))
      .filter((bucket) => bucket !== undefined);
  }

  /** Applies the changes of an operation. */
  keep({ account, key, budgets, hold, record, entries }: Changes): void {
    if (entries !== undefined) {
      for (const [seq, corrections] of this.corrections) this.corrections.set(seq, correctionsAmong(seq, entries, corrections));
      for (const entry of entries) if (this.corrections.has(entry.seq)) this.linked.set(entry.seq, entry);
    }
    for (const bucket of budgets ?? noBudgets) this.budgets.put(bucket.scopeId, bucket);
    if (key !== undefined) this.keys.put(key.keyId, key);
    if (hold !== undefined) this.holds.put(hold.id, hold);
    if (record !== undefined) this.operations.put(record.idempotencyKey, record);
    if (account !== undefined) {
      this.account.put(this.accountId, account);
    } else if ((key ?? hold ?? budgets) !== undefined && this.account.get(this.accountId) === undefined) {
      // Every writer of an account's rows holds the lock of the account's bucket, or creates that bucket and so collides
      // with any other writer that does the same.
      this.account.put(this.accountId, emptyAccount(this.accountId));
    }
  }
}

/** Holds the rows that some operations touch, by account, and the journal entries that applying them adds. */
export class WorkingSet {
  private readonly byAccount = new Map<string, AccountRows>();
  readonly entries: Entry[] = [];
  readonly dueAlerts: DueAlert[] = [];
  /** Loaded only when a settlement names a hold that is missing. */
  archivedUntilMs: number | undefined;

  /** Returns the rows of an account, which are empty at first. */
  of(accountId: string): AccountRows {
    let rows = this.byAccount.get(accountId);
    if (rows === undefined) this.byAccount.set(accountId, (rows = new AccountRows(accountId)));
    return rows;
  }

  accounts(): Iterable<AccountRows> {
    return this.byAccount.values();
  }

  /** Applies one operation and keeps its changes for the operations after it. */
  apply<O extends Operation>(operation: O, nowMs: number): Applied<ReplyTo<O>> {
    const rows = this.of(operation.accountId);
    const applied = apply(rows.touchedBy(operation, this.archivedUntilMs), operation, nowMs);
    rows.keep(applied.changes);
    if (applied.changes.entries !== undefined) this.entries.push(...applied.changes.entries);
    if (applied.changes.dueAlerts !== undefined) this.dueAlerts.push(...applied.changes.dueAlerts);
    return applied;
  }
}
