// How much of a deposit operators have taken back, which a refund of its payment must not deduct again.
import type { CallContext } from '#client/call-context.js';
import { type Entry, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { balanceEffectNanoUsd } from '../books/journal.js';

/**
 * Returns how much operators have taken with entries that are linked to the deposit, and how much all linked entries have left of it. The provider's own
 * refunds, whose idempotency keys begin with its name, are no reversals: it refunds no more than was paid, and a failed refund is made again.
 */
export async function reversalOf(
  provider: string,
  { accountId, id: entryId }: Entry,
  context: CallContext,
  ledger: Pick<LedgerService, 'getEntry'>,
): Promise<{ reversedNanoUsd: bigint; leftNanoUsd: bigint }> {
  const { corrections, reversibleNanoUsd } = await ledger.getEntry({ accountId, entryId }, context);
  const byOperators = corrections.filter(({ idempotencyKey }) => !idempotencyKey.startsWith(`${provider}:`));
  const effectNanoUsd = byOperators.reduce((sum, entry) => sum + balanceEffectNanoUsd(entry), 0n);
  return { reversedNanoUsd: effectNanoUsd < 0n ? -effectNanoUsd : 0n, leftNanoUsd: reversibleNanoUsd };
}
