// Counters that the threads of a process share. Each thread changes its own cells, so that they can be cleared when it ends.

/** Returns the memory of this many counters, all zero, for threads numbered from 1. */
export function threadCountersMemory(threads: number, counters: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * counters * Int32Array.BYTES_PER_ELEMENT);
}

/** The counters as one thread sees them. */
export class ThreadCounters {
  readonly #cells: Int32Array;
  readonly #own: number;

  constructor(
    memory: SharedArrayBuffer,
    private readonly counters: number,
    thread: number,
  ) {
    this.#cells = new Int32Array(memory);
    this.#own = (thread - 1) * counters;
  }

  /** Changes this thread's part of a counter. */
  add(counter: number, by: number): void {
    Atomics.add(this.#cells, this.#own + counter, by);
  }

  /** Returns the sum over all threads. */
  total(counter: number): number {
    let sum = 0;
    for (let cell = counter; cell < this.#cells.length; cell += this.counters) sum += Atomics.load(this.#cells, cell);
    return sum;
  }
}

/** Clears the part of a thread that has ended. */
export function clearThreadCounters(memory: SharedArrayBuffer, counters: number, thread: number): void {
  new Int32Array(memory).fill(0, (thread - 1) * counters, thread * counters);
}

/**
 * Returns the index of the counter for a name, by its FNV-1a hash (https://datatracker.ietf.org/doc/html/draft-eastlake-fnv). Two names may
 * share a counter.
 */
export function counterOf(name: string, counters: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 16)) >>> 0) % counters;
}
