// How many records one step of the roll-up worker adds to the sums. On SQLite a step blocks everything else in the process, and the cost of a record
// depends on its account: four hundred of one account take 10 ms, four hundred of as many accounts 65 ms and more. Pure.

/** Maximum number of records per transaction. */
export const recordsPerStepMax = 400;
/** Minimum, so that waiting for a busy database, which counts too, never lets records pile up. */
export const recordsPerStepMin = 100;
/** How long a step may take, in milliseconds, and below which duration the next step may be larger. */
const tookMsMax = 16;
const tookMsMin = 7;

/** Returns the size of the step after one of this size, which may not have found as many records and took this long. */
export function nextStepSize(size: number, records: number, tookMs: number): number {
  if (tookMs > tookMsMax) return Math.max(recordsPerStepMin, Math.floor(size / 2));
  // If the step was not full, the duration of a full one is unknown.
  if (tookMs < tookMsMin && records >= size) return Math.min(recordsPerStepMax, size * 2);
  return size;
}
