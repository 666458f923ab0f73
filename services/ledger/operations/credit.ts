// Deposit and adjust: change what an account was credited, once per idempotency key. Pure.
import type { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { accountAvailableNanoUsd, creditedNanoUsdMax, emptyAccount } from '../books/buckets.js';
import {
  adjustmentPosting,
  balanceAfter,
  balanceEffectNanoUsd,
  depositPosting,
  type EntryText,
  isPayment,
  post,
  type Posting,
  seqOfEntry,
} from '../books/journal.js';
import {
  type AccountBucket,
  type AdjustOperation,
  type Applied,
  type CreditReply,
  type DepositOperation,
  done,
  type Operation,
  refused,
  type Touched,
} from '../books/model.js';
import { leftOfEntry, limitingEntry } from '../books/corrections.js';
import { alreadyReversed, debitTooLarge, entryChanged, keyUsed, notLeftOfEntry } from '../books/refusals.js';

/** Adds money to an account. */
export function applyDeposit(touched: Touched, operation: DepositOperation, nowMs: number): Applied<CreditReply> {
  const account = touched.account ?? emptyAccount(operation.accountId);
  return (
    repeat(touched, operation) ??
    overfull(account, operation.amountNanoUsd) ??
    credit(account, operation, depositPosting(operation.source), {}, nowMs)
  );
}

/** Corrects a balance up or down; down at most by what is available. */
export function applyAdjust(touched: Touched, operation: AdjustOperation, nowMs: number): Applied<CreditReply> {
  const repeated = repeat(touched, operation);
  if (repeated !== undefined) return repeated;
  const account = touched.account ?? emptyAccount(operation.accountId);
  const { amountNanoUsd, linkedEntryId, isPaymentRefund = false } = operation;
  if (linkedEntryId !== undefined && seqOfEntry(account, linkedEntryId) === undefined) {
    return refused(fault('no_entry', {}, { details: { what: 'entry' } }));
  }
  if (isPaymentRefund && !isPayment(touched.linked)) return refused(fault('not_a_payment', {}));
  return applyCorrection(touched, operation, adjustmentPosting(amountNanoUsd, isPaymentRefund), nowMs);
}

/** Posts a correction that is new: one of an entry takes back at most what is left of it, and a debit at most what is available. */
export function applyCorrection(touched: Touched, operation: AdjustOperation, posting: Posting, nowMs: number): Applied<CreditReply> {
  const account = touched.account ?? emptyAccount(operation.accountId);
  const { amountNanoUsd, linkedEntryId } = operation;
  const refusal = beyondEntry(touched, operation);
  if (refusal !== undefined) return refused(refusal);
  if (amountNanoUsd < 0n && accountAvailableNanoUsd(account) < -amountNanoUsd) return refused(debitTooLarge(account, -amountNanoUsd));
  return (
    overfull(account, amountNanoUsd) ?? credit(account, operation, posting, linkedEntryId === undefined ? {} : { linkedEntryId }, nowMs)
  );
}

/**
 * Returns the refusal of an adjustment that takes back more than is left of its entry, or expects another amount to be left; undefined for any other.
 * Nothing is known about an archived entry.
 */
function beyondEntry({ linked, corrections }: Touched, { amountNanoUsd, expectedLeftNanoUsd }: AdjustOperation): AppError | undefined {
  if (linked === undefined) return undefined;
  const leftNanoUsd = leftOfEntry(linked, corrections);
  if (expectedLeftNanoUsd !== undefined && expectedLeftNanoUsd !== leftNanoUsd) return entryChanged(linked, leftNanoUsd);
  const effectNanoUsd = balanceEffectNanoUsd(linked);
  const takenNanoUsd = effectNanoUsd < 0n ? amountNanoUsd : effectNanoUsd > 0n ? -amountNanoUsd : 0n;
  return takenNanoUsd > leftNanoUsd ? notLeftOfEntry(linked, leftNanoUsd, corrections) : undefined;
}

/** Returns the first outcome if this idempotency key was used before, or the refusal of different parameters under it. */
export function repeat(
  touched: Touched,
  operation: Extract<Operation, { readonly idempotencyKey: string }>,
): Applied<CreditReply> | undefined {
  if (touched.record === undefined) return undefined;
  const { entry, fingerprint } = touched.record;
  if (fingerprint !== operation.fingerprint) {
    const corrected = limitingEntry(operation);
    const isOfSameEntry = corrected !== undefined && corrected.id === entry.linkedEntryId;
    return refused(isOfSameEntry ? alreadyReversed(corrected, entry) : keyUsed(operation.idempotencyKey));
  }
  return done({ entry, balance: balanceAfter(entry), replayed: true });
}

function overfull(account: AccountBucket, amountNanoUsd: bigint): Applied<never> | undefined {
  if (account.creditedNanoUsd + amountNanoUsd <= creditedNanoUsdMax) return undefined;
  return refused(fault('credit_limit', { max_nano_usd: creditedNanoUsdMax }));
}

function credit(
  before: AccountBucket,
  operation: DepositOperation | AdjustOperation,
  posting: Posting,
  link: Pick<EntryText, 'linkedEntryId'>,
  nowMs: number,
): Applied<CreditReply> {
  const { accountId, idempotencyKey, fingerprint, reason } = operation;
  const amountNanoUsd = operation.amountNanoUsd < 0n ? -operation.amountNanoUsd : operation.amountNanoUsd;
  const { account, entry } = post(before, posting, { amountNanoUsd, reference: idempotencyKey, idempotencyKey, reason, ...link }, nowMs);
  return done(
    { entry, balance: balanceAfter(entry), replayed: false },
    { account, record: { accountId, idempotencyKey, fingerprint, entry }, entries: [entry] },
  );
}
