// How much of what a provider refunded to a payer has not been taken from the account. Pure.
import type { Entry } from '#proto/ledger/v1/ledger.js';
import { balanceEffectNanoUsd } from '../books/journal.js';
import type { Refund } from './provider.js';

/**
 * Returns what the account still owes for the refunds of a payment. `corrections` are the entries that are linked to its deposit; `keyOf` returns the
 * idempotency key of a refund's deduction. What operators took, for example with a reversal, counts like a deduction, unless they gave it back. What was
 * deducted for a refund that failed, and given back, counts for neither.
 */
export function owedNanoUsd(refunds: readonly Refund[], corrections: readonly Entry[], keyOf: (refund: Refund) => string): bigint {
  const refundOf = new Map(refunds.map((refund) => [keyOf(refund), refund]));
  let [refunded, deducted, deductedForFailed, taken, givenBack] = [0n, 0n, 0n, 0n, 0n];
  for (const { amountNanoUsd, hasFailed } of refunds) if (!hasFailed) refunded += amountNanoUsd;
  for (const entry of corrections) {
    const effectNanoUsd = balanceEffectNanoUsd(entry);
    const refund = refundOf.get(entry.idempotencyKey);
    if (effectNanoUsd > 0n) givenBack += effectNanoUsd;
    else if (refund === undefined) taken -= effectNanoUsd;
    else if (refund.hasFailed) deductedForFailed -= effectNanoUsd;
    else deducted -= effectNanoUsd;
  }
  const givenBackOfTaken = atLeastZero(givenBack - deductedForFailed);
  return atLeastZero(refunded - deducted - atLeastZero(taken - givenBackOfTaken));
}

const atLeastZero = (amountNanoUsd: bigint): bigint => (amountNanoUsd > 0n ? amountNanoUsd : 0n);
