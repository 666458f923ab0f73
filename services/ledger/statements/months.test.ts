import { describe, expect, it } from '@jest/globals';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import { figuresOf, sumEntry } from './months.js';
import type { AccountBucket, MonthOpening } from '../books/model.js';
import { emptyAccount } from '../books/buckets.js';
import { post, postings } from '../books/journal.js';

const january = Date.UTC(2026, 0, 15);
const february = Date.UTC(2026, 1, 15);
const most = 9_000_000_000_000_000_000n;

describe('the sums of months', () => {
  it('stay exact when total deposits exceed 64 bits', () => {
    let account: AccountBucket = emptyAccount('acct_1');
    const openings: MonthOpening[] = [];
    // Money is deposited and then removed; the sum of deposits only grows.
    const enter = (kind: EntryKind, amountNanoUsd: bigint, atMs: number): void => {
      const { sums, opening } = sumEntry(account, {
        kind,
        amountNanoUsd: amountNanoUsd < 0n ? -amountNanoUsd : amountNanoUsd,
        createdAtMs: BigInt(atMs),
        seq: account.seq + 1n,
      });
      if (opening !== undefined) openings.push(opening);
      account = { ...account, seq: account.seq + 1n, creditedNanoUsd: account.creditedNanoUsd + amountNanoUsd, sums };
    };
    enter(EntryKind.ENTRY_KIND_DEPOSIT, most, january);
    enter(EntryKind.ENTRY_KIND_ADJUSTMENT, -most, january);
    enter(EntryKind.ENTRY_KIND_DEPOSIT, most, february);
    enter(EntryKind.ENTRY_KIND_ADJUSTMENT, -5n, february);

    expect(account.sums.depositedNanoUsd).toBeLessThan(2n ** 63n);
    const months = figuresOf(account, openings, openings.at(-1)!.month);
    expect(
      months.map(({ openingNanoUsd, depositsNanoUsd, adjustmentsNanoUsd, closingNanoUsd }) => [
        openingNanoUsd,
        depositsNanoUsd,
        adjustmentsNanoUsd,
        closingNanoUsd,
      ]),
    ).toEqual([
      [0n, most, -most, 0n],
      [0n, most, -5n, most - 5n],
    ]);
  });

  it('subtract payment refunds from the deposits, also of a month in which more was returned than paid', () => {
    let account: AccountBucket = emptyAccount('acct_1');
    for (const [posting, amountNanoUsd, atMs] of [
      [postings.cashDeposit, 50n, january],
      [postings.paymentRefund, 20n, january],
      [postings.paymentRefund, 30n, february],
      [postings.paymentRefundReversal, 10n, february],
    ] as const) {
      account = post(account, posting, { amountNanoUsd, reference: '' }, atMs).account;
    }
    const months = figuresOf(account, account.openings!, account.sums.month);
    expect(
      months.map(({ depositsNanoUsd, adjustmentsNanoUsd, closingNanoUsd }) => [depositsNanoUsd, adjustmentsNanoUsd, closingNanoUsd]),
    ).toEqual([
      [30n, 0n, 30n],
      [-20n, 0n, 10n],
    ]);
  });
});
