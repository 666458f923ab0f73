// Flags of V8 for processes whose objects live as long as a call.
import { setFlagsFromString } from 'node:v8';

export const v8Flags = [
  // When most objects of an allocation site survive a few collections, V8 allocates later ones directly in the old space. Ours survive only while their
  // call is in progress; in the old space, they retain everything they refer to until the next full collection: 14 kB per call in place of 2.
  '--no-allocation-site-pretenuring',
  // V8 discards compiled code when no object is left of a shape for which the code was compiled, as is the case for most code of a call while no call
  // is in progress. A collection during a pause discarded the code of 440 functions, and the next thousands of calls cost up to three times as much.
  '--retain-maps-for-n-gc=1000',
  // Without this, collections of idle processes ignore the flag above.
  '--no-memory-reducer-favors-memory',
] as const;

/** Sets the flags for all threads. Code that is already running keeps what V8 decided before. */
export function setV8Flags(): void {
  for (const flag of v8Flags) setFlagsFromString(flag);
}
