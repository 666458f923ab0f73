// Deposit and adjust: change what an account was credited, once per idempotency key. Pure.
import { fault } from '#client/errors/fault.js';
import { accountAvailableNanoUsd, creditedNanoUsdMax, emptyAccount } from '../books/buckets.js';
import { balanceAfter, depositPosting, type EntryText, post, type Posting, postings, seqOfEntry } from '../books/journal.js';
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
import { limitingEntry } from '../books/corrections.js';
import { alreadyReversed, debitTooLarge, keyUsed } from '../books/refusals.js';

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
  const { amountNanoUsd, linkedEntryId } = operation;
  if (linkedEntryId !== undefined && seqOfEntry(account, linkedEntryId) === undefined) {
    return refused(fault('no_entry', {}, { details: { what: 'entry' } }));
  }
  if (amountNanoUsd < 0n && accountAvailableNanoUsd(account) < -amountNanoUsd) return refused(debitTooLarge(account, -amountNanoUsd));
  const posting = amountNanoUsd > 0n ? postings.adjustmentUp : postings.adjustmentDown;
  return (
    overfull(account, amountNanoUsd) ?? credit(account, operation, posting, linkedEntryId === undefined ? {} : { linkedEntryId }, nowMs)
  );
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
