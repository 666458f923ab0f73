// Short-lived items in progress: calls, and request bodies that are being read.

/**
 * Items by number, for items that keep much memory in use. A plain Map moves its entries to another table whenever its table is full. An old table
 * references its entries and the table after it, so V8 keeps all of them, and whatever they reference, until it next collects its whole heap
 * (SetNextTable in OrderedHashTable::Rehash, https://github.com/v8/v8/blob/main/src/objects/ordered-hash-table.cc). Here the entry of a removed item
 * references nothing.
 */
export class InFlight<T> {
  readonly #entries = new Map<number, { item: T | undefined }>();

  get size(): number {
    return this.#entries.size;
  }

  set(number: number, item: T): void {
    this.#entries.set(number, { item });
  }

  get(number: number): T | undefined {
    return this.#entries.get(number)?.item;
  }

  has(number: number): boolean {
    return this.#entries.has(number);
  }

  /** Returns whether the item was there. */
  delete(number: number): boolean {
    const entry = this.#entries.get(number);
    if (entry !== undefined) entry.item = undefined;
    return this.#entries.delete(number);
  }

  clear(): void {
    for (const number of this.#entries.keys()) this.delete(number);
  }

  /** Returns the items, the oldest first. */
  values(): T[] {
    return Array.from(this.#entries.values(), ({ item }) => item!);
  }
}
