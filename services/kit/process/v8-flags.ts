// Flags of V8 for processes whose objects live as long as a call.
import { setFlagsFromString } from 'node:v8';

export const v8Flags = [
  // When most objects of an allocation site survive a few collections, V8 allocates later ones directly in the old space. Ours survive only while their
  // call is in progress; in the old space, they retain everything they refer to until the next full collection: 14 kB per call instead of 2.
  '--no-allocation-site-pretenuring',
  // A collection that V8 starts in a pause to return memory to the system also discards compiled code if no object is left of a shape for which it was
  // compiled, as is the case for most code of a call while no call is in progress. One such collection discarded the code of 482 functions, and the
  // next calls cost twice as much. Without such collections, a process that was under load keeps about 200 MB that it would have returned.
  '--no-memory-reducer-favors-memory',
] as const;

/** Flags that are set once the process has started, because they would make its start slower (bench/README.md). */
export const v8FlagsOnceStarted = [
  // V8 compiles a function with its last optimizing compiler after about 500 invocations instead of 3000. After its first four
  // thousand calls, a new process then needs three quarters of the CPU that it needs by default.
  '--invocation-count-for-turbofan=500',
] as const;

/** Sets these flags for all threads of the process. */
export function setV8Flags(flags: readonly string[]): void {
  for (const flag of flags) setFlagsFromString(flag);
}
