// Refund: refunds a final charge, in full or in part, once per idempotency key. Pure.
import assert from 'node:assert/strict';
import type { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { emptyKey, least } from '../books/buckets.js';
import { leftOfEntry } from '../books/corrections.js';
import { bucketsOfHold, budgetChanges, moved } from '../budgets/buckets.js';
import { balanceAfter, entryId, post, postings } from '../books/journal.js';
import {
  type Applied,
  type CorrectedEntry,
  type Corrections,
  type CreditReply,
  done,
  type HoldRecord,
  refused,
  type RefundOperation,
  type Touched,
} from '../books/model.js';
import { notLeftOfEntry } from '../books/refusals.js';
import { repeat } from './credit.js';

/**
 * Credits the account and frees the key's limit, with an entry linked to the charge. Never more than is left of what was captured, nor more than the
 * charge that the caller named.
 */
export function applyRefund(touched: Touched, operation: RefundOperation, nowMs: number): Applied<CreditReply> {
  const repeated = repeat(touched, operation);
  if (repeated !== undefined) return repeated;
  const { account: before, hold } = touched;
  if (hold?.keyId === undefined) {
    return refused(fault('no_charge', { id: operation.holdId }, { details: { what: 'hold' } }));
  }
  if (!isFinal(hold)) return refused(notFinal(hold));
  const { charge } = operation;
  const leftNanoUsd = refundableNanoUsd(hold, charge, touched.corrections);
  const amountNanoUsd = operation.amountNanoUsd ?? leftNanoUsd;
  if (leftNanoUsd === 0n || amountNanoUsd > leftNanoUsd) return refused(notLeft(hold, leftNanoUsd, charge, touched.corrections));
  assert(before !== undefined, 'An account that was charged has a balance.');
  const { idempotencyKey, fingerprint, reason, accountId } = operation;
  const { account, entry } = post(
    before,
    postings.refund,
    {
      amountNanoUsd,
      reference: hold.id,
      keyId: hold.keyId,
      idempotencyKey,
      reason,
      linkedEntryId: charge?.id ?? entryId(accountId, hold.chargeSeq),
    },
    nowMs,
  );
  const key = touched.key ?? emptyKey(accountId, hold.keyId);
  return done(
    { entry, balance: balanceAfter(entry), replayed: false },
    {
      account,
      key: { ...key, spentNanoUsd: key.spentNanoUsd - amountNanoUsd },
      ...budgetChanges(
        bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { spentNanoUsd: -amountNanoUsd })),
        nowMs,
      ),
      hold: { ...hold, refundedNanoUsd: hold.refundedNanoUsd + amountNanoUsd, lastSeq: entry.seq },
      record: { accountId, idempotencyKey, fingerprint, entry },
      entries: [entry],
    },
  );
}

/** Returns what is left to refund of a final call, or of one of its charges. */
export function refundableNanoUsd(hold: HoldRecord, charge: CorrectedEntry | undefined, corrections: Corrections | undefined): bigint {
  const leftNanoUsd = leftOfCallNanoUsd(hold);
  return charge === undefined ? leftNanoUsd : least(leftNanoUsd, leftOfEntry(charge, corrections));
}

function leftOfCallNanoUsd({ capturedNanoUsd, refundedNanoUsd }: HoldRecord): bigint {
  return capturedNanoUsd - refundedNanoUsd;
}

/** Reports whether what a call is charged can no longer change by its settlement. */
export function isFinal({ state }: HoldRecord): boolean {
  // A call that expired may yet be settled at its true cost, which is calculated from what was captured.
  return state !== HoldState.HOLD_STATE_OPEN && state !== HoldState.HOLD_STATE_EXPIRED;
}

function notFinal(hold: HoldRecord): AppError {
  return fault('charge_not_final', { id: hold.id }, { details: amountsOf(hold, 0n) });
}

function notLeft(
  hold: HoldRecord,
  leftNanoUsd: bigint,
  charge: CorrectedEntry | undefined,
  corrections: Corrections | undefined,
): AppError {
  const amounts = amountsOf(hold, leftNanoUsd);
  // If less is left of the charge than of its call, the amounts of the call do not explain the refusal.
  if (charge !== undefined && leftNanoUsd < leftOfCallNanoUsd(hold)) return notLeftOfEntry(charge, leftNanoUsd, corrections, amounts);
  return fault('refund_too_large', { id: hold.id, ...amounts });
}

function amountsOf(hold: HoldRecord, leftNanoUsd: bigint) {
  return {
    captured_nano_usd: String(hold.capturedNanoUsd),
    refunded_nano_usd: String(hold.refundedNanoUsd),
    refundable_nano_usd: String(leftNanoUsd),
  };
}
