// The arithmetic of the double-entry journal: which books an entry moves money between, and how it changes a balance. Pure.
import assert from 'node:assert/strict';
import { isId } from '#kit/id.js';
import { type Balance, BookAccount, DepositSource, type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import { accountAvailableNanoUsd } from './buckets.js';
import type { AccountBucket } from './model.js';
import { sumEntry } from '../statements/months.js';

/** Holds the books between which an entry of a kind moves money. */
export interface Posting {
  readonly kind: EntryKind;
  readonly debit: BookAccount;
  readonly credit: BookAccount;
}

const customer = BookAccount.BOOK_ACCOUNT_CUSTOMER;

/** All postings. A customer's money is our liability: a credit of CUSTOMER adds to it, a debit takes from it. */
export const postings = {
  cashDeposit: { kind: EntryKind.ENTRY_KIND_DEPOSIT, debit: BookAccount.BOOK_ACCOUNT_CASH, credit: customer },
  promotion: { kind: EntryKind.ENTRY_KIND_DEPOSIT, debit: BookAccount.BOOK_ACCOUNT_PROMOTION, credit: customer },
  paymentRefund: { kind: EntryKind.ENTRY_KIND_PAYMENT_REFUND, debit: customer, credit: BookAccount.BOOK_ACCOUNT_CASH },
  paymentRefundReversal: { kind: EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL, debit: BookAccount.BOOK_ACCOUNT_CASH, credit: customer },
  charge: { kind: EntryKind.ENTRY_KIND_CHARGE, debit: customer, credit: BookAccount.BOOK_ACCOUNT_REVENUE },
  shortfall: {
    kind: EntryKind.ENTRY_KIND_SHORTFALL,
    debit: BookAccount.BOOK_ACCOUNT_SHORTFALL_EXPENSE,
    credit: BookAccount.BOOK_ACCOUNT_REVENUE,
  },
  chargeCorrection: { kind: EntryKind.ENTRY_KIND_CHARGE_CORRECTION, debit: BookAccount.BOOK_ACCOUNT_REVENUE, credit: customer },
  refund: { kind: EntryKind.ENTRY_KIND_REFUND, debit: BookAccount.BOOK_ACCOUNT_REFUND, credit: customer },
  refundReversal: { kind: EntryKind.ENTRY_KIND_REFUND_REVERSAL, debit: customer, credit: BookAccount.BOOK_ACCOUNT_REFUND },
  adjustmentUp: { kind: EntryKind.ENTRY_KIND_ADJUSTMENT, debit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT, credit: customer },
  adjustmentDown: { kind: EntryKind.ENTRY_KIND_ADJUSTMENT, debit: customer, credit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT },
} as const satisfies Record<string, Posting>;

/** Returns the posting of a deposit from this source. */
export function depositPosting(source: DepositSource): Posting {
  return source === DepositSource.DEPOSIT_SOURCE_PROMOTION ? postings.promotion : postings.cashDeposit;
}

/** Returns the posting of an adjustment, which credits the account if its amount is positive. `isOfPayment`: it is a payment refund, or reverses one. */
export function adjustmentPosting(amountNanoUsd: bigint, isOfPayment: boolean): Posting {
  if (isOfPayment) return amountNanoUsd > 0n ? postings.paymentRefundReversal : postings.paymentRefund;
  return amountNanoUsd > 0n ? postings.adjustmentUp : postings.adjustmentDown;
}

/** Reports whether an entry is the deposit of a payment, which can be returned to its payer. */
export function isPayment(entry: Pick<Entry, 'kind' | 'debit'> | undefined): boolean {
  return entry?.kind === EntryKind.ENTRY_KIND_DEPOSIT && entry.debit === BookAccount.BOOK_ACCOUNT_CASH;
}

/** Reports whether an entry of this kind is a payment refund or the reversal of one. */
export function isOfPaymentRefund(kind: EntryKind): boolean {
  return kind === EntryKind.ENTRY_KIND_PAYMENT_REFUND || kind === EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL;
}

/** Reports whether an entry of this kind refers to a hold; the others refer to an idempotency key. */
export function isOfHold(kind: EntryKind): boolean {
  return (
    kind === EntryKind.ENTRY_KIND_CHARGE ||
    kind === EntryKind.ENTRY_KIND_CHARGE_CORRECTION ||
    kind === EntryKind.ENTRY_KIND_SHORTFALL ||
    kind === EntryKind.ENTRY_KIND_REFUND ||
    kind === EntryKind.ENTRY_KIND_REFUND_REVERSAL
  );
}

/** The kinds of entries that are linked to an earlier entry of their hold. */
export const linkedToHold: readonly EntryKind[] = [
  EntryKind.ENTRY_KIND_REFUND,
  EntryKind.ENTRY_KIND_CHARGE_CORRECTION,
  EntryKind.ENTRY_KIND_REFUND_REVERSAL,
];

/** The kinds of entries that may be linked to another. */
export const linkedKinds: readonly EntryKind[] = [
  ...linkedToHold,
  EntryKind.ENTRY_KIND_ADJUSTMENT,
  EntryKind.ENTRY_KIND_PAYMENT_REFUND,
  EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL,
];

/** Returns what an entry adds to (or, negative, takes from) the sums of its account. */
export function effectOf(entry: Pick<Entry, 'kind' | 'credit' | 'amountNanoUsd'>): { creditedNanoUsd: bigint; spentNanoUsd: bigint } {
  const { kind, credit, amountNanoUsd } = entry;
  switch (kind) {
    case EntryKind.ENTRY_KIND_DEPOSIT:
    case EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL:
      return { creditedNanoUsd: amountNanoUsd, spentNanoUsd: 0n };
    case EntryKind.ENTRY_KIND_PAYMENT_REFUND:
      return { creditedNanoUsd: -amountNanoUsd, spentNanoUsd: 0n };
    case EntryKind.ENTRY_KIND_ADJUSTMENT:
      return { creditedNanoUsd: credit === customer ? amountNanoUsd : -amountNanoUsd, spentNanoUsd: 0n };
    case EntryKind.ENTRY_KIND_CHARGE:
    case EntryKind.ENTRY_KIND_REFUND_REVERSAL:
      return { creditedNanoUsd: 0n, spentNanoUsd: amountNanoUsd };
    case EntryKind.ENTRY_KIND_CHARGE_CORRECTION:
    case EntryKind.ENTRY_KIND_REFUND:
      return { creditedNanoUsd: 0n, spentNanoUsd: -amountNanoUsd };
    case EntryKind.ENTRY_KIND_SHORTFALL:
      return { creditedNanoUsd: 0n, spentNanoUsd: 0n };
    default:
      throw new assert.AssertionError({ message: `The journal has no entry kind ${kind}.` });
  }
}

/** Returns what an entry adds to (or, negative, takes from) the balance of its account. */
export function balanceEffectNanoUsd(entry: Pick<Entry, 'kind' | 'credit' | 'amountNanoUsd'>): bigint {
  const { creditedNanoUsd, spentNanoUsd } = effectOf(entry);
  return creditedNanoUsd - spentNanoUsd;
}

/** Holds what an entry records besides its posting. */
export interface EntryText {
  readonly amountNanoUsd: bigint;
  readonly reference: string;
  readonly keyId?: string;
  readonly reason?: string;
  readonly linkedEntryId?: string;
  readonly idempotencyKey?: string;
}

/** Appends one entry to the account's journal. Returns the account's new sums, and the entry with the resulting balance. */
export function post(account: AccountBucket, posting: Posting, text: EntryText, nowMs: number): { account: AccountBucket; entry: Entry } {
  assert(text.amountNanoUsd > 0n, 'An entry moves a positive amount.');
  const effect = effectOf({ ...posting, amountNanoUsd: text.amountNanoUsd });
  const after: AccountBucket = {
    ...account,
    creditedNanoUsd: account.creditedNanoUsd + effect.creditedNanoUsd,
    spentNanoUsd: account.spentNanoUsd + effect.spentNanoUsd,
    seq: account.seq + 1n,
  };
  assert(after.spentNanoUsd >= 0n && accountAvailableNanoUsd(after) >= 0n, 'No entry may leave a negative balance.');
  const entry: Entry = {
    id: entryId(after.accountId, after.seq),
    accountId: after.accountId,
    seq: after.seq,
    ...posting,
    amountNanoUsd: text.amountNanoUsd,
    creditedAfterNanoUsd: after.creditedNanoUsd,
    spentAfterNanoUsd: after.spentNanoUsd,
    heldAfterNanoUsd: after.heldNanoUsd,
    reference: text.reference,
    keyId: text.keyId ?? '',
    reason: text.reason ?? '',
    linkedEntryId: text.linkedEntryId ?? '',
    createdAtMs: BigInt(nowMs),
    idempotencyKey: text.idempotencyKey ?? '',
  };
  const { sums, opening } = sumEntry(account, entry);
  const openings = opening === undefined ? account.openings : [...(account.openings ?? []), opening];
  return { account: { ...after, sums, openings }, entry };
}

/**
 * Returns the id of an entry: the last 16 digits of its account's id and its number in 16 hexadecimal digits. Entries are always named together
 * with their account, so the id needs no column, no index and no randomness.
 */
export function entryId(accountId: string, seq: bigint): string {
  return `ent_${accountId.slice(-16)}${seq.toString(16).padStart(16, '0')}`;
}

/** Returns the number within an entry's id. */
export function seqOfEntryId(id: string): bigint {
  return BigInt(`0x${id.slice(-16)}`);
}

/** Returns the number of the account's entry with this id; undefined when the id belongs to no entry of this account. */
export function seqOfEntry(account: AccountBucket, id: string): bigint | undefined {
  const seq = seqInAccount(account.accountId, id);
  return seq !== undefined && seq >= 1n && seq <= account.seq ? seq : undefined;
}

/** Returns the number within an entry's id; undefined when the id has another form or names another account. The entry need not exist. */
export function seqInAccount(accountId: string, id: string): bigint | undefined {
  return isId('ent', id) && id.slice(4, 20) === accountId.slice(-16) ? seqOfEntryId(id) : undefined;
}

/** Returns an account's money as a message of the contract. */
export function balanceOf(account: Omit<Balance, 'availableNanoUsd'>): Balance {
  const { accountId, creditedNanoUsd, spentNanoUsd, heldNanoUsd, seq } = account;
  return { accountId, creditedNanoUsd, spentNanoUsd, heldNanoUsd, availableNanoUsd: accountAvailableNanoUsd(account), seq };
}

/** Returns the balance after an entry. */
export function balanceAfter(entry: Entry): Balance {
  return balanceOf({
    accountId: entry.accountId,
    creditedNanoUsd: entry.creditedAfterNanoUsd,
    spentNanoUsd: entry.spentAfterNanoUsd,
    heldNanoUsd: entry.heldAfterNanoUsd,
    seq: entry.seq,
  });
}
