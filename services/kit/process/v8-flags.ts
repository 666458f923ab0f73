// Flags of V8 for processes whose objects live as long as a call.
import { setFlagsFromString } from 'node:v8';

export const v8Flags = [
  // When most objects of an allocation site survive a few collections, V8 allocates later ones directly in the old space. Ours survive only while their
  // call is in progress; in the old space, they retain everything they refer to until the next full collection: 14 kB per call in place of 2.
  '--no-allocation-site-pretenuring',
  // A collection that V8 starts in a pause to return memory to the system also discards compiled code if no object is left of a shape for which it was
  // compiled, as is the case for most code of a call while no call is in progress. One such collection discarded the code of 480 functions, and the
  // next thousands of calls cost up to three times as much. Without it, the process keeps the 200 MB that it needed under load.
  '--no-memory-reducer-favors-memory',
] as const;

/** Sets the flags for all threads. Code that is already running keeps what V8 decided before. */
export function setV8Flags(): void {
  for (const flag of v8Flags) setFlagsFromString(flag);
}
