// What a gateway is occupied with: connections, calls in flight and reports in the spool, in one thread or in all threads that share a port.
import { clearThreadCounters, counterOf, ThreadCounters, threadCountersMemory } from '#kit/process/thread-counters.js';

/** The counts. */
export interface Occupancy {
  connections(): number;
  countConnection(by: 1 | -1): void;
  calls(): number;
  /** Returns the calls of an account. */
  callsOf(accountId: string): number;
  countCall(accountId: string, by: 1 | -1): void;
  /** Returns the reports that wait in the spool. */
  spooled(): number;
  countSpooled(by: 1 | -1): void;
}

/** Returns the counts of a gateway with one thread. */
export function localOccupancy(): Occupancy {
  const ofAccounts = new Map<string, number>();
  let connections = 0;
  let calls = 0;
  let spooled = 0;
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
    spooled: () => spooled,
    countSpooled: (by) => void (spooled += by),
  };
}

/**
 * Accounts are counted by a hash. Two accounts with the same hash share a limit; with this many values that is rare even among the few accounts
 * that have enough calls in flight to notice.
 */
const accountCounters = 65_536;
const connectionCounter = 0;
const callCounter = 1;
const spoolCounter = 2;
const firstAccountCounter = 3;
const counters = firstAccountCounter + accountCounters;

/** Returns the memory in which this many threads count. */
export const occupancyMemory = (threads: number): SharedArrayBuffer => threadCountersMemory(threads, counters);

/** Returns the counts of all threads, as one of them (from 1) changes and reads them. */
export function sharedOccupancy(memory: SharedArrayBuffer, thread: number): Occupancy {
  const shared = new ThreadCounters(memory, counters, thread);
  const ofAccount = (accountId: string): number => firstAccountCounter + counterOf(accountId, accountCounters);
  return {
    connections: () => shared.total(connectionCounter),
    countConnection: (by) => shared.add(connectionCounter, by),
    calls: () => shared.total(callCounter),
    callsOf: (accountId) => shared.total(ofAccount(accountId)),
    countCall(accountId, by) {
      shared.add(callCounter, by);
      shared.add(ofAccount(accountId), by);
    },
    spooled: () => shared.total(spoolCounter),
    countSpooled: (by) => shared.add(spoolCounter, by),
  };
}

/** Forgets what a thread that has ended was occupied with. */
export const clearOccupancy = (memory: SharedArrayBuffer, thread: number): void => clearThreadCounters(memory, counters, thread);
