import { describe, expect } from '@jest/globals';
import { BookAccount, DepositSource, EntryKind } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import { creditedNanoUsdMax } from '../books/buckets.js';
import { entryId, postings } from '../books/journal.js';
import type { Touched } from '../books/model.js';
import { entriesOf, expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import { account, accountId, adjustOperation, depositOperation, holdId, nowMs, touched } from '../testing/records.js';

const row = outcomeRows('DA');

describe('Deposit and Adjust', () => {
  const none: Touched = { account: undefined, key: undefined, budgets: [], hold: undefined, record: undefined };
  const funded: Touched = { ...none, account: account({ creditedNanoUsd: 100n, heldNanoUsd: 30n }) };
  const overCap = { ...none, account: account({ creditedNanoUsd: creditedNanoUsdMax - 4n }) };

  row('D1', 'creates the balance with the first deposit', () => {
    const applied = apply(none, depositOperation(50n), nowMs);
    expect(replyOf(applied)).toMatchObject({
      replayed: false,
      balance: { creditedNanoUsd: 50n, availableNanoUsd: 50n, seq: 1n },
      entry: { reference: 'pay-1' },
    });
    expect(applied.changes.entries).toMatchObject([{ debit: BookAccount.BOOK_ACCOUNT_CASH, credit: BookAccount.BOOK_ACCOUNT_CUSTOMER }]);
  });

  for (const [code, operation] of [
    ['D2', depositOperation(50n)],
    ['A6', adjustOperation(-50n)],
  ] as const) {
    row(code, 'returns the first outcome to a repeat, whatever happened since', () => {
      const first = apply(funded, operation, nowMs);
      const since: Touched = { ...none, account: account({ creditedNanoUsd: 7n, seq: 40n }), record: first.changes.record };
      expect(apply(since, operation, nowMs + 1)).toEqual({ reply: { ...replyOf(first), replayed: true }, changes: {} });
    });
  }

  row('D3', 'refuses different parameters, and the key of an adjustment', () => {
    const { record } = apply(funded, depositOperation(50n), nowMs).changes;
    expectRefused({ ...funded, record }, depositOperation(50n, { fingerprint: 'd2' }), 'idempotency_mismatch');
    const adjusted = apply(funded, adjustOperation(50n), nowMs).changes.record;
    expectRefused({ ...funded, record: adjusted }, depositOperation(50n), 'idempotency_mismatch');
  });

  row('D4', 'refuses credit beyond what a column can hold', () => {
    expectRefused(overCap, depositOperation(5n), 'failed_precondition');
    expect(replyOf(apply(overCap, depositOperation(4n), nowMs)).balance.creditedNanoUsd).toBe(creditedNanoUsdMax);
  });

  row('A1', 'credits the account', () => {
    const applied = apply(none, adjustOperation(5n), nowMs);
    expect(applied.changes.entries).toMatchObject([
      { debit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT, credit: BookAccount.BOOK_ACCOUNT_CUSTOMER, amountNanoUsd: 5n },
    ]);
    expect(replyOf(applied).balance.creditedNanoUsd).toBe(5n);
  });

  row('A2', 'takes what is available from the credits', () => {
    const applied = apply(funded, adjustOperation(-70n), nowMs);
    expect(applied.changes.entries).toMatchObject([
      { debit: BookAccount.BOOK_ACCOUNT_CUSTOMER, credit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT, amountNanoUsd: 70n },
    ]);
    expect(replyOf(applied).balance).toMatchObject({ creditedNanoUsd: 30n, availableNanoUsd: 0n, heldNanoUsd: 30n });
  });

  row('A3', 'does not take what calls in flight hold', () => {
    expectRefused(funded, adjustOperation(-71n), 'balance_empty');
    expectRefused(none, adjustOperation(-1n), 'balance_empty');
  });

  row('A4', 'carries the link to the entry it corrects', () => {
    const linkedEntryId = entryId(accountId, 1n);
    expect(replyOf(apply(funded, adjustOperation(5n, { linkedEntryId }), nowMs)).entry.linkedEntryId).toBe(linkedEntryId);
  });

  row('A5', 'refuses a link to anything but an entry of the account', () => {
    const foreign = entryId(`acct_${'e'.repeat(32)}`, 1n);
    for (const linkedEntryId of [entryId(accountId, 2n), entryId(accountId, 0n), foreign, 'ent_1', holdId]) {
      expectRefused(funded, adjustOperation(5n, { linkedEntryId }), 'not_found');
    }
  });

  row('A7', 'refuses different parameters under a used key', () => {
    const { record } = apply(funded, adjustOperation(5n), nowMs).changes;
    expectRefused({ ...funded, record }, adjustOperation(5n, { fingerprint: 'a2' }), 'idempotency_mismatch');
  });

  row('A9', 'takes back no more than is left of the entry it corrects, and adds any amount to it', () => {
    const { entry: linked } = replyOf(apply(none, depositOperation(50n), nowMs));
    const linkedEntryId = linked.id;
    const corrections = { seqs: [2n], effectNanoUsd: -20n };
    const rows = touched(undefined, { account: account({ creditedNanoUsd: 1_000n, seq: 2n }), linked, corrections });
    const { refusal } = expectRefused(rows, adjustOperation(-31n, { linkedEntryId }), 'failed_precondition');
    expect(refusal?.details).toMatchObject({ rule: 'reversal_too_large', left_nano_usd: '30' });
    for (const amountNanoUsd of [-30n, 500n])
      expect(replyOf(apply(rows, adjustOperation(amountNanoUsd, { linkedEntryId }), nowMs)).entry.linkedEntryId).toBe(linkedEntryId);
    const { entry: debit } = replyOf(apply(funded, adjustOperation(-50n), nowMs));
    expectRefused({ ...rows, linked: debit, corrections: undefined }, adjustOperation(51n, { linkedEntryId }), 'failed_precondition');
  });

  row('A10', 'refuses when another amount is left of the entry than expected', () => {
    const { entry: linked } = replyOf(apply(none, depositOperation(50n), nowMs));
    const rows = touched(undefined, { linked, corrections: { seqs: [2n], effectNanoUsd: -20n } });
    const adjust = (expectedLeftNanoUsd: bigint) => adjustOperation(-5n, { linkedEntryId: linked.id, expectedLeftNanoUsd });
    const { refusal } = expectRefused(rows, adjust(50n), 'failed_precondition');
    expect(refusal?.details).toMatchObject({ rule: 'entry_changed', left_nano_usd: '30' });
    expect(entriesOf(apply(rows, adjust(30n), nowMs))).toEqual([[EntryKind.ENTRY_KIND_ADJUSTMENT, 5n]]);
  });

  row('A11', 'books a payment refund to CASH, at most what is left of the payment and what is available', () => {
    const { entry: linked } = replyOf(apply(none, depositOperation(50n), nowMs));
    const rows = touched(undefined, { account: account({ seq: 2n }), linked, corrections: { seqs: [2n], effectNanoUsd: -20n } });
    const paymentRefund = (amountNanoUsd: bigint) => adjustOperation(amountNanoUsd, { linkedEntryId: linked.id, isPaymentRefund: true });
    const applied = apply(rows, paymentRefund(-30n), nowMs);
    expect(applied.changes).toMatchObject({
      account: { creditedNanoUsd: 970n, sums: { depositedNanoUsd: -30n } },
      entries: [{ ...postings.paymentRefund, amountNanoUsd: 30n, linkedEntryId: linked.id }],
    });
    expectRefused(rows, paymentRefund(-31n), 'failed_precondition');
    expectRefused({ ...rows, account: account({ creditedNanoUsd: 29n, seq: 2n }) }, paymentRefund(-30n), 'balance_empty');
  });

  row('A12', 'refuses a payment refund of anything but a payment', () => {
    const linkedEntryId = entryId(accountId, 1n);
    const entries = [
      depositOperation(50n, { source: DepositSource.DEPOSIT_SOURCE_PROMOTION }),
      adjustOperation(50n),
      adjustOperation(-50n),
    ].map((operation) => replyOf(apply(funded, operation, nowMs)).entry);
    for (const linked of [...entries, undefined]) {
      const rows = touched(undefined, { linked });
      const { refusal } = expectRefused(rows, adjustOperation(-5n, { linkedEntryId, isPaymentRefund: true }), 'failed_precondition');
      expect(refusal?.details['rule']).toBe('not_a_payment');
    }
  });

  row('A8', 'refuses credit beyond what a column can hold', () => {
    expectRefused(overCap, adjustOperation(5n), 'failed_precondition');
  });
});
