// Counts what occupies a gateway: connections, calls in flight, bodies that are being read and reports in the spool, in one thread or in all threads of a port.
import { clearThreadCounters, counterOf, ThreadCounters, threadCountersMemory } from '#kit/process/thread-counters.js';

/** The counts. */
export interface Occupancy {
  connections(): number;
  countConnection(by: 1 | -1): void;
  calls(): number;
  /** Returns the calls of an account. */
  callsOf(accountId: string): number;
  countCall(accountId: string, by: 1 | -1): void;
  /** Returns the memory of the bodies that are being read, in units of body-guard.ts. */
  bodyUnits(): number;
  /** Returns the same for one account. */
  bodyUnitsOf(accountId: string): number;
  countBody(accountId: string, units: number): void;
  /** Returns the reports that wait in the spool. */
  spooled(): number;
  countSpooled(by: 1 | -1): void;
}

/** Returns the counts of a gateway with one thread. */
export function localOccupancy(): Occupancy {
  const ofAccounts = new Map<string, number>();
  const bodiesOf = new Map<string, number>();
  let connections = 0;
  let calls = 0;
  let bodies = 0;
  let spooled = 0;
  return {
    connections: () => connections,
    countConnection: (by) => void (connections += by),
    calls: () => calls,
    callsOf: (accountId) => ofAccounts.get(accountId) ?? 0,
    countCall(accountId, by) {
      calls += by;
      countIn(ofAccounts, accountId, by);
    },
    bodyUnits: () => bodies,
    bodyUnitsOf: (accountId) => bodiesOf.get(accountId) ?? 0,
    countBody(accountId, units) {
      bodies += units;
      countIn(bodiesOf, accountId, units);
    },
    spooled: () => spooled,
    countSpooled: (by) => void (spooled += by),
  };
}

function countIn(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}

/**
 * Accounts are counted by a hash. Two accounts with the same hash share a limit; with this many values that is rare even among the few accounts
 * that have enough calls in flight to notice.
 */
const accountCounters = 65_536;
const connectionCounter = 0;
const callCounter = 1;
const spoolCounter = 2;
const bodyCounter = 3;
const firstAccountCounter = 4;
const firstBodyCounter = firstAccountCounter + accountCounters;
const counters = firstBodyCounter + accountCounters;

/** Returns the memory in which this many threads count. */
export const occupancyMemory = (threads: number): SharedArrayBuffer => threadCountersMemory(threads, counters);

/** Returns the counts of all threads, as one of them (from 1) changes and reads them. */
export function sharedOccupancy(memory: SharedArrayBuffer, thread: number): Occupancy {
  const shared = new ThreadCounters(memory, counters, thread);
  const ofAccount = (accountId: string): number => firstAccountCounter + counterOf(accountId, accountCounters);
  const bodiesOf = (accountId: string): number => firstBodyCounter + counterOf(accountId, accountCounters);
  return {
    connections: () => shared.total(connectionCounter),
    countConnection: (by) => shared.add(connectionCounter, by),
    calls: () => shared.total(callCounter),
    callsOf: (accountId) => shared.total(ofAccount(accountId)),
    countCall(accountId, by) {
      shared.add(callCounter, by);
      shared.add(ofAccount(accountId), by);
    },
    bodyUnits: () => shared.total(bodyCounter),
    bodyUnitsOf: (accountId) => shared.total(bodiesOf(accountId)),
    countBody(accountId, units) {
      shared.add(bodyCounter, units);
      shared.add(bodiesOf(accountId), units);
    },
    spooled: () => shared.total(spoolCounter),
    countSpooled: (by) => shared.add(spoolCounter, by),
  };
}

/** Removes the counts of a thread that has ended. */
export const clearOccupancy = (memory: SharedArrayBuffer, thread: number): void => clearThreadCounters(memory, counters, thread);
