// Statements by month (UTC): which month an entry belongs to, and the sums from which every month's figures come. Pure.
//
// A month begins with its first entry, and every later entry of the journal belongs to it or to a later month: the clocks of two
// processes may differ, but the journal has one order, and so a month that has ended never changes again.
import { type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import type { AccountBucket, MonthOpening, MonthSums } from '../books/model.js';

/** The sums of an account without entries. Month 0 precedes every month. */
export const noSums: MonthSums = { month: 0, depositedNanoUsd: 0n, refundedNanoUsd: 0n };

/** Returns the number of the month of an instant: twelve per year, so that the next month is the next number. */
export function monthAt(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Returns when a month begins, in epoch milliseconds. */
export function startOfMonthMs(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12);
}

/** Returns a month as a text such as "2026-11". */
export function monthText(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, '0')}-${String((month % 12) + 1).padStart(2, '0')}`;
}

/** Returns the month of such a text; undefined when it is not one. */
export function monthOfText(text: string): number | undefined {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  return year === undefined ? undefined : Number(year) * 12 + Number(month) - 1;
}

/**
 * Returns a sum as a column holds it. The sums of deposits and refunds keep growing when money is removed again, so they may exceed
 * 64 bits; they then wrap around to the lowest value, and wrapped differences stay exact.
 */
export function wrapped(sumNanoUsd: bigint): bigint {
  return BigInt.asIntN(64, sumNanoUsd);
}

/**
 * Returns the account's sums after the next entry in its journal, and the opening of a month if the entry begins one. `before` is the
 * account before the entry.
 */
export function sumEntry(
  before: AccountBucket,
  entry: Pick<Entry, 'kind' | 'amountNanoUsd' | 'createdAtMs' | 'seq'>,
): { sums: MonthSums; opening: MonthOpening | undefined } {
  const { sums } = before;
  const month = Math.max(sums.month, monthAt(Number(entry.createdAtMs)));
  const { depositedNanoUsd, refundedNanoUsd } = sums;
  const opening =
    month === sums.month
      ? undefined
      : {
          month,
          firstSeq: entry.seq,
          creditedNanoUsd: before.creditedNanoUsd,
          spentNanoUsd: before.spentNanoUsd,
          depositedNanoUsd,
          refundedNanoUsd,
        };
  const after = {
    month,
    depositedNanoUsd: wrapped(depositedNanoUsd + depositedBy(entry)),
    refundedNanoUsd: wrapped(refundedNanoUsd + refundedBy(entry)),
  };
  return { sums: after, opening };
}

function depositedBy({ kind, amountNanoUsd }: Pick<Entry, 'kind' | 'amountNanoUsd'>): bigint {
  if (kind === EntryKind.ENTRY_KIND_DEPOSIT || kind === EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL) return amountNanoUsd;
  return kind === EntryKind.ENTRY_KIND_PAYMENT_REFUND ? -amountNanoUsd : 0n;
}

function refundedBy({ kind, amountNanoUsd }: Pick<Entry, 'kind' | 'amountNanoUsd'>): bigint {
  if (kind === EntryKind.ENTRY_KIND_REFUND) return amountNanoUsd;
  return kind === EntryKind.ENTRY_KIND_REFUND_REVERSAL ? -amountNanoUsd : 0n;
}

/** Reports whether an entry's kind is indexed next to the journal: all kinds but charges, which are most of the entries. */
export function isNoted(entry: Pick<Entry, 'kind'>): boolean {
  return entry.kind !== EntryKind.ENTRY_KIND_CHARGE;
}

/**
 * Holds the figures of one month of an account. All but the balances may be negative: deposits are net of payment refunds, charges of corrections and
 * refunds of reversals, which may correct an earlier month.
 */
export interface MonthFigures {
  readonly month: number;
  readonly openingNanoUsd: bigint;
  readonly depositsNanoUsd: bigint;
  /** Upward less downward adjustments. */
  readonly adjustmentsNanoUsd: bigint;
  readonly chargesNanoUsd: bigint;
  readonly refundsNanoUsd: bigint;
  readonly closingNanoUsd: bigint;
  /** Number of its first entry; equal to `endSeq` in a month without entries. */
  readonly firstSeq: bigint;
  /** Number of the first entry after it. */
  readonly endSeq: bigint;
}

/**
 * Returns the months of an account from the first with an entry up to `lastMonth`, oldest first, including those without entries. Each closes
 * with the opening figures of the next one, and the last with the balance.
 */
export function figuresOf(account: AccountBucket, openings: readonly MonthOpening[], lastMonth: number): MonthFigures[] {
  const { sums, seq } = account;
  // Months that were opened after the account was read are not yet part of it.
  const known = openings.filter(({ month }) => month <= sums.month);
  const now: MonthOpening = {
    ...sums,
    month: Math.max(lastMonth, sums.month) + 1,
    firstSeq: seq + 1n,
    creditedNanoUsd: account.creditedNanoUsd,
    spentNanoUsd: account.spentNanoUsd,
  };
  return known.flatMap((opening, index) => {
    const next = known[index + 1] ?? now;
    const figures: MonthFigures[] = [between(opening, next)];
    for (let month = opening.month + 1; month < next.month; month += 1) figures.push(between({ ...next, month }, next));
    return figures;
  });
}

function between(opening: MonthOpening, next: MonthOpening): MonthFigures {
  const depositsNanoUsd = wrapped(next.depositedNanoUsd - opening.depositedNanoUsd);
  const refundsNanoUsd = wrapped(next.refundedNanoUsd - opening.refundedNanoUsd);
  return {
    month: opening.month,
    openingNanoUsd: opening.creditedNanoUsd - opening.spentNanoUsd,
    depositsNanoUsd,
    adjustmentsNanoUsd: next.creditedNanoUsd - opening.creditedNanoUsd - depositsNanoUsd,
    // What is spent equals the charges, net of corrections, less the refunds.
    chargesNanoUsd: next.spentNanoUsd - opening.spentNanoUsd + refundsNanoUsd,
    refundsNanoUsd,
    closingNanoUsd: next.creditedNanoUsd - next.spentNanoUsd,
    firstSeq: opening.firstSeq,
    endSeq: next.firstSeq,
  };
}
