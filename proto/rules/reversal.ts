// How much of a call is refunded to reverse one of its charges. Pure.
import type { Entry, Hold } from '#proto/ledger/v1/ledger.js';

/** Returns the amount; undefined for all that is left of the call's only charge. A call that was settled after its hold had expired may have two charges. */
export function refundOfCharge(charge: Pick<Entry, 'amountNanoUsd'>, hold: Pick<Hold, 'capturedNanoUsd'>): bigint | undefined {
  return hold.capturedNanoUsd > charge.amountNanoUsd ? charge.amountNanoUsd : undefined;
}
