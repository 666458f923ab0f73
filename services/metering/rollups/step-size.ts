// How many records one step of the folder adds to the sums. On SQLite a step holds up everything else in the process, and what a record costs
// depends on whose it is: four hundred of one account take 10 ms, four hundred of as many accounts 65 ms and more. Pure.

/** Records of one transaction at most. */
export const recordsPerStepMax = 400;
/** And at least, so that waiting for a busy database, which counts too, never lets records pile up. */
export const recordsPerStepMin = 100;
/** What a step is to take at most, in milliseconds, and less than which it may be larger. */
const tookMsMax = 16;
const tookMsMin = 7;

/** The size of the next step after one of this size, which may not have found as many records, took so long. */
export function nextStepSize(size: number, records: number, tookMs: number): number {
  if (tookMs > tookMsMax) return Math.max(recordsPerStepMin, Math.floor(size / 2));
  // Of one that was not full it is not known how long a full one takes.
  if (tookMs < tookMsMin && records >= size) return Math.min(recordsPerStepMax, size * 2);
  return size;
}
