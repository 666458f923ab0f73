// How long the money lasts. Pure.
import { nanoUsdOf } from '../../format/money.js';

const paceDays = 7n;

/** Returns for how many whole days the available balance lasts at the pace of the last seven days; null when nothing was spent in them. */
export function runwayDays(availableUsd: string, spentUsd: string): number | null {
  const [available, spent] = [nanoUsdOf(availableUsd), nanoUsdOf(spentUsd)];
  if (spent <= 0n) return null;
  return available <= 0n ? 0 : Number((available * paceDays) / spent);
}
