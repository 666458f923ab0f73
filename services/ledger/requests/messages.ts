// Converts the ledger's records to messages of the contract.
import type { BudgetShare as BudgetShareMessage, Hold, KeySpend } from '#proto/ledger/v1/ledger.js';
import type { BudgetShare, HoldRecord, KeyBucket } from '../books/model.js';
import { periodBounds } from '../budgets/calendar.js';

/** Returns a hold as callers see it. A tombstone has no key. */
export function toHoldMessage(hold: HoldRecord): Hold {
  return {
    id: hold.id,
    accountId: hold.accountId,
    keyId: hold.keyId ?? '',
    amountNanoUsd: hold.amountNanoUsd,
    checkpointNanoUsd: hold.checkpointNanoUsd,
    capturedNanoUsd: hold.capturedNanoUsd,
    shortfallNanoUsd: hold.shortfallNanoUsd,
    state: hold.state,
    createdAtMs: BigInt(hold.createdAtMs),
    expiresAtMs: BigInt(hold.expiresAtMs),
    refundedNanoUsd: hold.refundedNanoUsd,
  };
}

/** Returns the share of a budget as callers see it. */
export function toShareMessage({ budget, spentPercent }: BudgetShare): BudgetShareMessage {
  const untilMs = BigInt(periodBounds(budget.period, budget.timeZone, budget.start)?.untilMs ?? 0);
  return { budgetId: budget.budgetId, spentPercent, untilMs };
}

/** Returns a key's spend as callers see it. */
export function toKeySpend(key: KeyBucket): KeySpend {
  return { keyId: key.keyId, spentNanoUsd: key.spentNanoUsd, heldNanoUsd: key.heldNanoUsd, limitNanoUsd: key.limitNanoUsd };
}
