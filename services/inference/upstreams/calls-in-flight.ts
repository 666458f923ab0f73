// The calls in flight to each upstream, in one thread or in all threads of a process: together they are limited.
import { clearThreadCounters, counterOf, ThreadCounters, threadCountersMemory } from '#kit/process/thread-counters.js';

/** The counts. */
export interface CallsInFlight {
  of(upstreamId: string): number;
  count(upstreamId: string, by: 1 | -1): void;
}

/** Returns the counts of a process with one thread. */
export function localCallsInFlight(): CallsInFlight {
  const calls = new Map<string, number>();
  return {
    of: (id) => calls.get(id) ?? 0,
    count(id, by) {
      const left = (calls.get(id) ?? 0) + by;
      if (left > 0) calls.set(id, left);
      else calls.delete(id);
    },
  };
}

/** Upstreams are counted by a hash. Two upstreams with the same hash share a limit, which is rare with this many values. */
const counters = 65_536;

/** Returns the memory in which this many threads count. */
export const callsInFlightMemory = (threads: number): SharedArrayBuffer => threadCountersMemory(threads, counters);

/** Returns the counts of all threads, as one of them (from 1) changes and reads them. */
export function sharedCallsInFlight(memory: SharedArrayBuffer, thread: number): CallsInFlight {
  const shared = new ThreadCounters(memory, counters, thread);
  return {
    of: (id) => shared.total(counterOf(id, counters)),
    count: (id, by) => shared.add(counterOf(id, counters), by),
  };
}

/** Forgets the calls of a thread that has ended. */
export const clearCallsInFlight = (memory: SharedArrayBuffer, thread: number): void => clearThreadCounters(memory, counters, thread);
