import { describe, expect } from '@jest/globals';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import { entryId, postings } from '../books/journal.js';
import type { Touched } from '../books/model.js';
import { entriesOf, expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import {
  account,
  accountId,
  depositOperation,
  expired,
  hold,
  holdId,
  key,
  keyId,
  nowMs,
  refundOperation,
  settleOperation,
  tombstone,
  touched,
} from '../testing/records.js';

const { HOLD_STATE_SETTLED, HOLD_STATE_RELEASED } = HoldState;
const row = outcomeRows('F');

describe('Refund', () => {
  const settled = hold({ state: HOLD_STATE_SETTLED, capturedNanoUsd: 70n, shortfallNanoUsd: 5n, lastSeq: 8n, chargeSeq: 7n });

  row('F1', 'refunds a part to the account and to the key, linked to the charge', () => {
    const applied = apply(touched(settled), refundOperation(30n), nowMs);
    expect(replyOf(applied)).toMatchObject({
      replayed: false,
      balance: { spentNanoUsd: 40n, creditedNanoUsd: 1_000n, availableNanoUsd: 960n },
    });
    expect(applied.changes.hold).toMatchObject({
      state: HOLD_STATE_SETTLED,
      capturedNanoUsd: 70n,
      refundedNanoUsd: 30n,
      lastSeq: 10n,
      chargeSeq: 7n,
    });
    expect(applied.changes.key?.spentNanoUsd).toBe(40n);
    expect(applied.changes.entries).toMatchObject([
      {
        kind: EntryKind.ENTRY_KIND_REFUND,
        amountNanoUsd: 30n,
        reference: holdId,
        keyId,
        idempotencyKey: 'back-1',
        reason: 'why',
        linkedEntryId: entryId(accountId, 7n),
      },
    ]);
  });

  row('F1', 'refunds what a released call had used, and frees the key’s limit by that amount', () => {
    const released = hold({ state: HOLD_STATE_RELEASED, checkpointNanoUsd: 60n, capturedNanoUsd: 60n, lastSeq: 9n, chargeSeq: 9n });
    const limited = key({ spentNanoUsd: 60n, limitNanoUsd: 60n });
    const applied = apply(touched(released, { key: limited }), refundOperation(60n), nowMs);
    expect(applied.changes.key).toMatchObject({ spentNanoUsd: 0n, limitNanoUsd: 60n });
    expect(applied.changes.hold).toMatchObject({ state: HOLD_STATE_RELEASED, refundedNanoUsd: 60n });
  });

  row('F2', 'refunds all that is left', () => {
    expect(entriesOf(apply(touched(settled), refundOperation(undefined), nowMs))).toEqual([[EntryKind.ENTRY_KIND_REFUND, 70n]]);
    const partly = { ...settled, refundedNanoUsd: 30n };
    const rest = apply(touched(partly, { account: account({ spentNanoUsd: 40n, seq: 9n }) }), refundOperation(undefined), nowMs);
    expect(entriesOf(rest)).toEqual([[EntryKind.ENTRY_KIND_REFUND, 40n]]);
    expect(rest.changes.hold?.refundedNanoUsd).toBe(70n);
  });

  row('F3', 'refunds no more than was captured and not yet refunded, whatever the shortfall', () => {
    const { refusal } = expectRefused(touched(settled), refundOperation(71n), 'failed_precondition');
    expect(refusal?.details).toMatchObject({
      rule: 'refund_too_large',
      captured_nano_usd: '70',
      refunded_nano_usd: '0',
      refundable_nano_usd: '70',
    });
    expectRefused(touched({ ...settled, refundedNanoUsd: 30n }), refundOperation(41n), 'failed_precondition');
  });

  row('F4', 'finds nothing to refund', () => {
    for (const amountNanoUsd of [undefined, 1n]) {
      expectRefused(touched({ ...settled, refundedNanoUsd: 70n }), refundOperation(amountNanoUsd), 'failed_precondition');
      expectRefused(touched(hold({ state: HOLD_STATE_SETTLED })), refundOperation(amountNanoUsd), 'failed_precondition');
    }
  });

  row('F5', 'refuses while the charge is not final', () => {
    for (const stored of [hold({ checkpointNanoUsd: 25n }), expired])
      expectRefused(touched(stored), refundOperation(1n), 'failed_precondition');
  });

  row('F6', 'does not find an unknown call', () => {
    for (const stored of [undefined, tombstone]) {
      const { refusal } = expectRefused(touched(stored), refundOperation(1n), 'not_found');
      expect(refusal?.details).toMatchObject({ what: 'hold' });
    }
  });

  row('F7', 'returns the first outcome to a repeat, whatever happened since', () => {
    const first = apply(touched(settled), refundOperation(30n), nowMs);
    const since: Touched = {
      ...touched(first.changes.hold, { account: account({ creditedNanoUsd: 7n, seq: 40n }) }),
      record: first.changes.record,
    };
    expect(apply(since, refundOperation(30n), nowMs + 1)).toEqual({ reply: { ...replyOf(first), replayed: true }, changes: {} });
  });

  row('F8', 'refuses different parameters, and the key of a deposit', () => {
    const { record } = apply(touched(settled), refundOperation(30n), nowMs).changes;
    expectRefused(touched(settled, { record }), refundOperation(31n, { fingerprint: 'r2' }), 'idempotency_mismatch');
    expectRefused(touched(settled, { record }), depositOperation(30n), 'idempotency_mismatch');
    const deposited = apply(touched(undefined), depositOperation(50n), nowMs).changes.record;
    expectRefused(touched(settled, { record: deposited }), refundOperation(30n), 'idempotency_mismatch');
  });

  row('F10', 'refunds what is left of one charge, linked to it', () => {
    const charge = {
      id: entryId(accountId, 5n),
      seq: 5n,
      ...postings.charge,
      amountNanoUsd: 50n,
    };
    const back = apply(touched(settled), refundOperation(undefined, { charge }), nowMs);
    expect(back.changes.entries).toMatchObject([{ amountNanoUsd: 50n, linkedEntryId: charge.id }]);
    const partly = touched({ ...settled, refundedNanoUsd: 30n }, { account: account({ spentNanoUsd: 40n, seq: 9n }) });
    const rest = apply(partly, refundOperation(undefined, { charge }), nowMs);
    expect(rest.changes.entries).toMatchObject([{ amountNanoUsd: 40n, linkedEntryId: charge.id }]);
    const { refusal } = expectRefused(touched(settled), refundOperation(51n, { charge }), 'failed_precondition');
    expect(refusal).toMatchObject({
      message: 'Only $0.00000005 of entry no. 5 is left to reverse.',
      details: { rule: 'reversal_too_large', left_nano_usd: '50', captured_nano_usd: '70', refundable_nano_usd: '50' },
    });
    // Here the call has less left than the charge.
    const ofCall = expectRefused(partly, refundOperation(41n, { charge }), 'failed_precondition').refusal;
    expect(ofCall?.details).toMatchObject({ rule: 'refund_too_large', refunded_nano_usd: '30', refundable_nano_usd: '40' });
  });

  row('F9', 'leaves the settlement as it was: its repeat returns the same outcome', () => {
    const refunded = apply(touched(settled), refundOperation(undefined), nowMs).changes.hold;
    expect(apply(touched(refunded), settleOperation(75n), nowMs)).toEqual({ reply: { hold: refunded, replayed: true }, changes: {} });
  });
});
