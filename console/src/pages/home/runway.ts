// How long the money lasts. Pure.
import { nanoUsdOf } from '../../format/money.js';

const dayMs = 86_400_000;

/** Returns for how many whole days the available balance lasts at the pace of a period with this spend; null when nothing was spent in it. */
export function runwayDays(availableUsd: string, spentUsd: string, periodMs: number): number | null {
  const [available, spent] = [nanoUsdOf(availableUsd), nanoUsdOf(spentUsd)];
  if (spent <= 0n) return null;
  return available <= 0n ? 0 : Number((available * BigInt(periodMs)) / (spent * BigInt(dayMs)));
}
