// Remembers the budget buckets of each key's last hold, so that a settlement can lock them together with the account. Only the hold knows its budgets
// for certain, and it can only be read under the lock of the account: locking them afterwards is another round trip.
import { noBudgets } from '../budgets/buckets.js';

const hintsMax = 20_000;

/** Remembers the path of the last hold of each key that has budgets. */
export class PathHints {
  private readonly paths = new Map<string, readonly string[]>();

  /** Remembers the buckets of a key's hold. */
  note(accountId: string, keyId: string, scopeIds: readonly string[]): void {
    const name = accountId + keyId;
    if (this.paths.size >= hintsMax && !this.paths.has(name)) this.paths.delete(this.paths.keys().next().value!);
    this.paths.set(name, scopeIds);
  }

  /** Returns the buckets that a hold of this key probably has. */
  of(accountId: string, keyId: string | undefined): readonly string[] {
    return (this.paths.size === 0 || keyId === undefined ? undefined : this.paths.get(accountId + keyId)) ?? noBudgets;
  }
}
