// The rows of one transaction in memory: operations are applied to it one after another, each seeing what the ones before did.
import { apply } from './apply.js';
import { emptyAccount } from './buckets.js';
import type { AccountBucket, Applied, Changes, HoldRecord, KeyBucket, Operation, OperationRecord, ReplyTo, Touched } from './model.js';
import type { Entry } from '#proto/ledger/v1/ledger.js';

/** Rows of one table by key, remembering which are new and which have changed since they were loaded. */
export class Rows<T> {
  private readonly rows = new Map<string, T>();
  private readonly loaded = new Set<string>();
  private readonly changed = new Set<string>();

  /** Puts in a row that the database has. */
  load(key: string, row: T): void {
    this.rows.set(key, row);
    this.loaded.add(key);
  }

  get(key: string): T | undefined {
    return this.rows.get(key);
  }

  put(key: string, row: T): void {
    this.rows.set(key, row);
    this.changed.add(key);
  }

  /** Rows that the database does not have yet. */
  inserted(): T[] {
    return [...this.changed].filter((key) => !this.loaded.has(key)).map((key) => this.rows.get(key)!);
  }

  /** Rows that the database has with older values. */
  updated(): T[] {
    return [...this.changed].filter((key) => this.loaded.has(key)).map((key) => this.rows.get(key)!);
  }
}

/** The rows that some operations touch, and what applying them adds to the journal. */
export class WorkingSet {
  readonly accounts = new Rows<AccountBucket>();
  readonly keys = new Rows<KeyBucket>();
  readonly holds = new Rows<HoldRecord>();
  readonly operations = new Rows<OperationRecord>();
  readonly entries: Entry[] = [];

  /** Applies one operation and keeps its changes for the operations after it. */
  apply<O extends Operation>(operation: O, nowMs: number): Applied<ReplyTo<O>> {
    const applied = apply(this.touchedBy(operation), operation, nowMs);
    this.keep(operation.accountId, applied.changes);
    return applied;
  }

  private touchedBy(operation: Operation): Touched {
    const { accountId } = operation;
    const hold = 'holdId' in operation ? this.holds.get(rowKey(accountId, operation.holdId)) : undefined;
    const keyId = hold?.keyId ?? ('keyId' in operation ? operation.keyId : undefined);
    return {
      account: this.accounts.get(accountId),
      key: keyId === undefined ? undefined : this.keys.get(rowKey(accountId, keyId)),
      hold,
      record: 'idempotencyKey' in operation ? this.operations.get(rowKey(accountId, operation.idempotencyKey)) : undefined,
    };
  }

  private keep(accountId: string, changes: Changes): void {
    const { account, key, hold, record, entries = [] } = changes;
    if (key !== undefined) this.keys.put(rowKey(accountId, key.keyId), key);
    if (hold !== undefined) this.holds.put(rowKey(accountId, hold.id), hold);
    if (record !== undefined) this.operations.put(rowKey(accountId, record.idempotencyKey), record);
    this.entries.push(...entries);
    if (account !== undefined) {
      this.accounts.put(accountId, account);
    } else if ((key ?? hold) !== undefined && this.accounts.get(accountId) === undefined) {
      // Whoever writes a row of an account holds the lock of the account's bucket, or creates that bucket and so collides
      // with any other who does the same.
      this.accounts.put(accountId, emptyAccount(accountId));
    }
  }
}

/** The key of a row that belongs to an account. */
export function rowKey(accountId: string, id: string): string {
  return `${accountId}/${id}`;
}
