// The limits at which an operator should act, before anything fails. `tollgate doctor` and the readiness check of gateways use them.

/** A certificate that is valid for less than this should have been renewed. */
export const certificateMsMin = 14 * 86_400_000;

const diskShareMin = 0.05;
// On a small disk a larger share is needed.
const diskBytesMin = 1024 ** 3;
const smallDiskShareMin = 0.2;

/** Reports whether a disk is almost full; both in bytes. */
export function isAlmostFull(free: number, total: number): boolean {
  return free / total < (free < diskBytesMin ? smallDiskShareMin : diskShareMin);
}
