import { describe, expect } from '@jest/globals';
import { BookAccount, type Entry, EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { balanceAfter, entryId, postings } from '../books/journal.js';
import { apply } from './apply.js';
import { correctionsAmong } from '../books/corrections.js';
import { entriesOf, expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import {
  account,
  accountId,
  adjustOperation,
  budget,
  depositOperation,
  hold,
  holdId,
  key,
  nowMs,
  refundOperation,
  touched,
} from '../testing/records.js';
import { bucketsOfPath } from '../budgets/buckets.js';
import type { ReverseOperation, ReverseRefundOperation, Touched } from '../books/model.js';

const { ENTRY_KIND_ADJUSTMENT, ENTRY_KIND_REFUND_REVERSAL } = EntryKind;
const row = outcomeRows('V');
const deposit = replyOf(apply(touched(undefined), depositOperation(50n), nowMs)).entry;

function reverse(entry: Entry, fields: Partial<ReverseOperation> = {}): ReverseOperation {
  const reversal = { accountId, idempotencyKey: 'undo-1', fingerprint: 'v1', amountNanoUsd: undefined, reason: 'why' };
  return { kind: 'reverse', entry, ...reversal, ...fields };
}

/** Returns the rows after an adjustment that is linked to an entry. */
function corrected(entry: Entry, amountNanoUsd: bigint): Touched {
  const { entry: correction } = replyOf(
    apply(touched(undefined, { account: account({ seq: entry.seq }) }), adjustOperation(amountNanoUsd, { linkedEntryId: entry.id }), nowMs),
  );
  const after = account({ seq: correction.seq, creditedNanoUsd: correction.creditedAfterNanoUsd });
  return touched(undefined, { account: after, corrections: correctionsAmong(entry.seq, [correction]) });
}

/** The rows after the deposit, or after another entry with its number. */
const after = touched(undefined, { account: account({ seq: 10n }) });

describe('Reverse', () => {
  const isFinal = { state: HoldState.HOLD_STATE_SETTLED, capturedNanoUsd: 70n, lastSeq: 9n, chargeSeq: 9n };
  const refunded = touched(hold(isFinal));
  const refund = replyOf(apply(refunded, refundOperation(30n), nowMs)).entry;
  const reverseRefund = (fields: Partial<ReverseRefundOperation> = {}): ReverseRefundOperation => ({
    ...reverse(refund),
    holdId,
    ...fields,
    kind: 'reverse_refund',
  });

  /** Returns the rows after the refund. */
  function afterRefund(fields: Partial<Touched> = {}): Touched {
    const { account: bucket, key: ofKey, hold: ofHold } = apply(refunded, refundOperation(30n), nowMs).changes;
    return touched(ofHold, { account: bucket, key: ofKey, corrections: correctionsAmong(refund.seq, []), ...fields });
  }

  row('V1', 'takes back a deposit, linked to it', () => {
    const applied = apply(after, reverse(deposit), nowMs);
    expect(applied.changes.entries).toMatchObject([
      {
        kind: ENTRY_KIND_ADJUSTMENT,
        debit: BookAccount.BOOK_ACCOUNT_CUSTOMER,
        amountNanoUsd: 50n,
        linkedEntryId: deposit.id,
        reason: 'why',
      },
    ]);
    expect(replyOf(applied).balance.creditedNanoUsd).toBe(950n);
  });

  row('V1', 'takes back a named amount', () => {
    expect(entriesOf(apply(after, reverse(deposit, { amountNanoUsd: 20n }), nowMs))).toEqual([[ENTRY_KIND_ADJUSTMENT, 20n]]);
  });

  row('V2', 'gives back a debit', () => {
    const debit = replyOf(apply(touched(undefined), adjustOperation(-40n), nowMs)).entry;
    const applied = apply(after, reverse(debit), nowMs);
    expect(applied.changes.entries).toMatchObject([
      { credit: BookAccount.BOOK_ACCOUNT_CUSTOMER, amountNanoUsd: 40n, linkedEntryId: debit.id },
    ]);
  });

  row('V3', 'takes back what linked entries have left of it', () => {
    expect(entriesOf(apply(corrected(deposit, -20n), reverse(deposit), nowMs))).toEqual([[ENTRY_KIND_ADJUSTMENT, 30n]]);
    // A correction in the direction of the entry can be reversed by itself.
    expect(entriesOf(apply(corrected(deposit, 5n), reverse(deposit), nowMs))).toEqual([[ENTRY_KIND_ADJUSTMENT, 50n]]);
    // A correction that was itself reversed has taken nothing.
    const taken: Entry = { ...deposit, id: entryId(accountId, 11n), seq: 11n, linkedEntryId: deposit.id };
    const first = { ...taken, kind: ENTRY_KIND_ADJUSTMENT, credit: BookAccount.BOOK_ACCOUNT_ADJUSTMENT };
    const second: Entry = { ...first, seq: 12n, credit: BookAccount.BOOK_ACCOUNT_CUSTOMER, linkedEntryId: first.id };
    const corrections = correctionsAmong(deposit.seq, [first, second]);
    expect(entriesOf(apply({ ...after, corrections }, reverse(deposit), nowMs))).toEqual([[ENTRY_KIND_ADJUSTMENT, 50n]]);
  });

  row('V4', 'refuses more than is left, and names the corrections when nothing is left', () => {
    expect(expectRefused(corrected(deposit, -20n), reverse(deposit, { amountNanoUsd: 31n }), 'failed_precondition').refusal).toMatchObject({
      message: 'Only $0.00000003 of entry no. 10 is left to reverse.',
      details: { rule: 'reversal_too_large', left_nano_usd: '30' },
    });
    expect(expectRefused(corrected(deposit, -50n), reverse(deposit), 'failed_precondition').refusal?.message).toBe(
      'Entry no. 10 has already been corrected in full. Entries that correct it: no. 11.',
    );
  });

  row('V5', 'removes no more than is available', () => {
    const low = touched(undefined, { account: account({ creditedNanoUsd: 60n, heldNanoUsd: 20n, seq: 10n }) });
    expect(expectRefused(low, reverse(deposit), 'balance_empty').refusal?.details).toMatchObject({
      rule: 'debit_too_large_held',
      available_nano_usd: '40',
      held_nano_usd: '20',
    });
    const spent = afterRefund({ account: account({ creditedNanoUsd: 70n, spentNanoUsd: 41n, seq: 10n }) });
    expectRefused(spent, reverseRefund(), 'balance_empty');
  });

  row('V6', 'charges a refunded call again: its account, key and budgets, whatever their limits', () => {
    const path = [budget(1, { limitNanoUsd: 10n })];
    const limited = { ...afterRefund().key!, limitNanoUsd: 10n };
    const rows = afterRefund({ key: limited, budgets: bucketsOfPath(accountId, path, []) });
    const applied = apply({ ...rows, hold: { ...rows.hold!, budgets: [path[0]!.scopeId] } }, reverseRefund(), nowMs);
    expect(applied.changes.entries).toMatchObject([
      {
        kind: ENTRY_KIND_REFUND_REVERSAL,
        debit: BookAccount.BOOK_ACCOUNT_CUSTOMER,
        credit: BookAccount.BOOK_ACCOUNT_REFUND,
        amountNanoUsd: 30n,
        reference: holdId,
        linkedEntryId: refund.id,
      },
    ]);
    expect(applied.changes).toMatchObject({
      account: { spentNanoUsd: 70n, sums: { refundedNanoUsd: 0n } },
      key: { spentNanoUsd: 70n },
      budgets: [{ spentNanoUsd: 30n }],
      hold: { capturedNanoUsd: 70n, refundedNanoUsd: 0n, lastSeq: 11n },
    });
    const again = apply(
      touched(applied.changes.hold, { account: applied.changes.account, key: key({ spentNanoUsd: 70n }) }),
      refundOperation(70n),
      nowMs,
    );
    expect(again.changes.hold?.refundedNanoUsd).toBe(70n);
  });

  row('V7', 'refuses to reverse the refund of an archived call', () => {
    const { refusal } = expectRefused(afterRefund({ hold: undefined }), reverseRefund(), 'failed_precondition');
    expect(refusal?.details['rule']).toBe('refund_archived');
  });

  row('V8', 'returns the first outcome to a repeat, and names the reversal to another', () => {
    const operations = [
      [after, reverse(deposit)],
      [afterRefund(), reverseRefund()],
      [corrected(deposit, -20n), reverse(deposit)],
    ] as const;
    for (const [rows, operation] of operations) {
      const { record } = apply(rows, operation, nowMs).changes;
      const { entry } = record!;
      expect(apply({ ...rows, record }, operation, nowMs)).toEqual({
        reply: { entry, balance: balanceAfter(entry), replayed: true },
        changes: {},
      });
      const { refusal } = expectRefused({ ...rows, record }, { ...operation, fingerprint: 'v2' }, 'idempotency_mismatch');
      expect(refusal?.message).toBe(`Entry no. 10 was already reversed by entry no. ${entry.seq}. Nothing was changed.`);
      expect(expectRefused({ ...rows, record }, depositOperation(1n), 'idempotency_mismatch').refusal?.details['rule']).toBe(
        'idempotency_key_used',
      );
    }
  });

  row('V10', 'moves what was returned to a payer back from CASH, and to CASH again if that was a mistake', () => {
    const linked = { linked: deposit, corrections: correctionsAmong(deposit.seq, []) };
    const returned = adjustOperation(-40n, { linkedEntryId: deposit.id, isPaymentRefund: true });
    const refunded = apply({ ...after, ...linked }, returned, nowMs);
    const paymentRefund = replyOf(refunded).entry;
    const rows = touched(undefined, { account: refunded.changes.account, corrections: correctionsAmong(paymentRefund.seq, []) });
    const failed = apply(rows, reverse(paymentRefund), nowMs);
    expect(failed.changes).toMatchObject({
      account: { creditedNanoUsd: 1_000n, sums: { depositedNanoUsd: 0n } },
      entries: [{ ...postings.paymentRefundReversal, amountNanoUsd: 40n, linkedEntryId: paymentRefund.id }],
    });
    const reversal = replyOf(failed).entry;
    const reversed = { ...rows, account: failed.changes.account, corrections: correctionsAmong(paymentRefund.seq, [reversal]) };
    expectRefused(reversed, reverse(paymentRefund), 'failed_precondition');
    const again = apply({ ...reversed, corrections: correctionsAmong(reversal.seq, []) }, reverse(reversal, { amountNanoUsd: 30n }), nowMs);
    expect(again.changes.entries).toMatchObject([{ ...postings.paymentRefund, amountNanoUsd: 30n, linkedEntryId: reversal.id }]);
  });

  row('V9', 'refunds no more of a charge than linked entries have left of it', () => {
    const charge = { ...deposit, kind: EntryKind.ENTRY_KIND_CHARGE, credit: BookAccount.BOOK_ACCOUNT_REVENUE, amountNanoUsd: 70n };
    const corrections = { seqs: [11n], effectNanoUsd: 60n };
    expect(apply(touched(hold(isFinal), { corrections }), refundOperation(undefined, { charge }), nowMs).changes.entries).toMatchObject([
      { amountNanoUsd: 10n },
    ]);
  });
});
