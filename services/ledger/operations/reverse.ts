// Reverse: takes back what is left of an entry, once per idempotency key. Charges are reversed by Refund. Pure.
import assert from 'node:assert/strict';
import { fault } from '#client/errors/fault.js';
import { accountAvailableNanoUsd, emptyKey, least } from '../books/buckets.js';
import { leftOfEntry } from '../books/corrections.js';
import { adjustmentPosting, balanceAfter, balanceEffectNanoUsd, isOfPaymentRefund, post, postings } from '../books/journal.js';
import {
  type Applied,
  type CorrectedEntry,
  type Corrections,
  type CreditReply,
  done,
  type HoldRecord,
  refused,
  type ReverseOperation,
  type ReverseRefundOperation,
  type Touched,
} from '../books/model.js';
import { debitTooLarge, notLeftOfEntry } from '../books/refusals.js';
import { bucketsOfHold, budgetChanges, moved } from '../budgets/buckets.js';
import { applyCorrection, repeat } from './credit.js';

/** Reverses a deposit or an adjustment with an adjustment in the opposite direction, and a payment refund or its reversal between the same books. */
export function applyReverse(touched: Touched, operation: ReverseOperation, nowMs: number): Applied<CreditReply> {
  const repeated = repeat(touched, operation);
  if (repeated !== undefined) return repeated;
  const { entry } = operation;
  const leftNanoUsd = leftOfEntry(entry, touched.corrections);
  if (leftNanoUsd === 0n) return refused(notLeftOfEntry(entry, leftNanoUsd, touched.corrections));
  const amountNanoUsd = operation.amountNanoUsd ?? leftNanoUsd;
  const isCredit = balanceEffectNanoUsd(entry) > 0n;
  const changeNanoUsd = isCredit ? -amountNanoUsd : amountNanoUsd;
  const correction = { ...operation, kind: 'adjust', amountNanoUsd: changeNanoUsd, linkedEntryId: entry.id } as const;
  // The correction is refused if it takes more than is left.
  return applyCorrection({ ...touched, linked: entry }, correction, adjustmentPosting(changeNanoUsd, isOfPaymentRefund(entry.kind)), nowMs);
}

/**
 * Charges what was refunded again: to the account, the key and the budgets of the call. The limits of the key and the budgets do not refuse it, because the
 * call was made within them.
 */
export function applyReverseRefund(touched: Touched, operation: ReverseRefundOperation, nowMs: number): Applied<CreditReply> {
  const repeated = repeat(touched, operation);
  if (repeated !== undefined) return repeated;
  const { account: before, hold } = touched;
  const { entry: refund, accountId, idempotencyKey, fingerprint, reason } = operation;
  if (hold?.keyId === undefined) return refused(fault('refund_archived', { id: operation.holdId }));
  const leftNanoUsd = refundReversibleNanoUsd(hold, refund, touched.corrections);
  const amountNanoUsd = operation.amountNanoUsd ?? leftNanoUsd;
  if (leftNanoUsd === 0n || amountNanoUsd > leftNanoUsd) return refused(notLeftOfEntry(refund, leftNanoUsd, touched.corrections));
  assert(before !== undefined, 'An account that was refunded has a balance.');
  if (accountAvailableNanoUsd(before) < amountNanoUsd) return refused(debitTooLarge(before, amountNanoUsd));
  const text = { amountNanoUsd, reference: hold.id, keyId: hold.keyId, idempotencyKey, reason, linkedEntryId: refund.id };
  const { account, entry } = post(before, postings.refundReversal, text, nowMs);
  const key = touched.key ?? emptyKey(accountId, hold.keyId);
  return done(
    { entry, balance: balanceAfter(entry), replayed: false },
    {
      account,
      key: { ...key, spentNanoUsd: key.spentNanoUsd + amountNanoUsd },
      ...budgetChanges(
        bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { spentNanoUsd: amountNanoUsd })),
        nowMs,
      ),
      hold: { ...hold, refundedNanoUsd: hold.refundedNanoUsd - amountNanoUsd, lastSeq: entry.seq },
      record: { accountId, idempotencyKey, fingerprint, entry },
      entries: [entry],
    },
  );
}

/** Returns what is left of a refund of the hold. */
export function refundReversibleNanoUsd(hold: HoldRecord, refund: CorrectedEntry, corrections: Corrections | undefined): bigint {
  return least(hold.refundedNanoUsd, leftOfEntry(refund, corrections));
}
