// The idempotency key of a reversal that an operator requests for an entry. Pure.

/** Holds what the key is derived from, as GetEntry returns it. */
interface Reversible {
  readonly corrections: readonly { readonly seq: bigint }[];
  readonly reversibleNanoUsd: bigint;
}

/**
 * Returns the idempotency key of the reversal of what is left of an entry. It contains the last correction, so that the entry can be reversed again once
 * its reversal was itself reversed. If nothing is left, the last correction may be the reversal that this request repeats: the key then contains the
 * correction before it, as the first request did, and the ledger returns the same reversal.
 */
export function reversalKey(entryId: string, { corrections, reversibleNanoUsd }: Reversible): string {
  const last = corrections.at(reversibleNanoUsd > 0n ? -1 : -2);
  return last === undefined ? `reverse ${entryId}` : `reverse ${entryId} after ${last.seq}`;
}
