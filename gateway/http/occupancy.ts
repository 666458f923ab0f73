// What counts toward the limits of a gateway: its connections and the calls in flight, in one thread or in all threads that share a port.

/** The counts. */
export interface Occupancy {
  connections(): number;
  countConnection(by: 1 | -1): void;
  calls(): number;
  /** Returns the calls of an account. */
  callsOf(accountId: string): number;
  countCall(accountId: string, by: 1 | -1): void;
}

/** Returns the counts of a gateway with one thread. */
export function localOccupancy(): Occupancy {
  const ofAccounts = new Map<string, number>();
  let connections = 0;
  let calls = 0;
  return {
    connections: () => connections,
    countConnection: (by) => void (connections += by),
    calls: () => calls,
    callsOf: (accountId) => ofAccounts.get(accountId) ?? 0,
    countCall(accountId, by) {
      calls += by;
      const ofAccount = (ofAccounts.get(accountId) ?? 0) + by;
      if (ofAccount > 0) ofAccounts.set(accountId, ofAccount);
      else ofAccounts.delete(accountId);
    },
  };
}

/**
 * Accounts are counted by a hash. Two accounts with the same hash share a limit; with this many values that is rare even among the few accounts
 * that have enough calls in flight to notice.
 */
const accountCells = 65_536;
const connectionCell = 0;
const callCell = 1;
const firstAccountCell = 2;
const cellsPerThread = firstAccountCell + accountCells;

/** Returns the memory in which this many threads count. */
export function occupancyMemory(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * cellsPerThread * Int32Array.BYTES_PER_ELEMENT);
}

/** Returns the counts of all threads. A thread (from 1) changes only its own cells, so that they can be cleared when it ends. */
export function sharedOccupancy(memory: SharedArrayBuffer, thread: number): Occupancy {
  const cells = new Int32Array(memory);
  const threads = cells.length / cellsPerThread;
  const own = (thread - 1) * cellsPerThread;
  const total = (cell: number): number => {
    let sum = 0;
    for (let each = 0; each < threads; each += 1) sum += Atomics.load(cells, each * cellsPerThread + cell);
    return sum;
  };
  return {
    connections: () => total(connectionCell),
    countConnection: (by) => void Atomics.add(cells, own + connectionCell, by),
    calls: () => total(callCell),
    callsOf: (accountId) => total(cellOf(accountId)),
    countCall(accountId, by) {
      Atomics.add(cells, own + callCell, by);
      Atomics.add(cells, own + cellOf(accountId), by);
    },
  };
}

/** Forgets the connections and calls of a thread that has ended. */
export function clearOccupancy(memory: SharedArrayBuffer, thread: number): void {
  new Int32Array(memory).fill(0, (thread - 1) * cellsPerThread, thread * cellsPerThread);
}

/** FNV-1a (https://datatracker.ietf.org/doc/html/draft-eastlake-fnv), folded to the number of cells. */
function cellOf(accountId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < accountId.length; index += 1) hash = Math.imul(hash ^ accountId.charCodeAt(index), 0x01000193);
  return firstAccountCell + ((hash ^ (hash >>> 16)) & (accountCells - 1));
}
