import { describe, expect } from '@jest/globals';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import { entryId } from '../books/journal.js';
import { entriesOf, expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import { account, accountId, expired, hold, key, keyId, nowMs, settleOperation, tombstone, touched } from '../testing/records.js';

const { HOLD_STATE_SETTLED, HOLD_STATE_RELEASED } = HoldState;
const { ENTRY_KIND_CHARGE, ENTRY_KIND_SHORTFALL, ENTRY_KIND_CHARGE_CORRECTION } = EntryKind;
const row = outcomeRows('S');

describe('Settle', () => {
  row('S1', 'captures the cost and frees the rest', () => {
    const applied = apply(touched(hold()), settleOperation(70n), nowMs);
    expect(replyOf(applied)).toMatchObject({
      replayed: false,
      hold: { state: HOLD_STATE_SETTLED, capturedNanoUsd: 70n, shortfallNanoUsd: 0n, lastSeq: 10n },
    });
    expect(applied.changes.account).toMatchObject({ spentNanoUsd: 70n, heldNanoUsd: 0n, seq: 10n });
    expect(applied.changes.key).toMatchObject({ spentNanoUsd: 70n, heldNanoUsd: 0n });
    expect(entriesOf(applied)).toEqual([[ENTRY_KIND_CHARGE, 70n]]);
  });

  row('S1', 'captures what a hold set aside even if the limit was lowered meanwhile', () => {
    const lowered = key({ heldNanoUsd: 100n, limitNanoUsd: 10n });
    expect(replyOf(apply(touched(hold(), { key: lowered }), settleOperation(100n), nowMs)).hold).toMatchObject({
      capturedNanoUsd: 100n,
      shortfallNanoUsd: 0n,
    });
  });

  row('S2', 'frees all and writes no entry when the call was free', () => {
    const applied = apply(touched(hold({ checkpointNanoUsd: 5n })), settleOperation(0n), nowMs);
    expect(applied.changes).toMatchObject({
      account: { spentNanoUsd: 0n, heldNanoUsd: 0n, seq: 9n },
      hold: { state: HOLD_STATE_SETTLED },
      entries: [],
    });
  });

  row('S3', 'captures an excess from what is free', () => {
    const applied = apply(touched(hold()), settleOperation(150n), nowMs);
    expect(replyOf(applied).hold).toMatchObject({ capturedNanoUsd: 150n, shortfallNanoUsd: 0n });
    expect(entriesOf(applied)).toEqual([[ENTRY_KIND_CHARGE, 150n]]);
  });

  row('S3', 'books what the account lacks as a shortfall', () => {
    const applied = apply(
      touched(hold(), { account: account({ creditedNanoUsd: 120n, heldNanoUsd: 100n }) }),
      settleOperation(150n),
      nowMs,
    );
    expect(replyOf(applied).hold).toMatchObject({ capturedNanoUsd: 120n, shortfallNanoUsd: 30n });
    expect(entriesOf(applied)).toEqual([
      [ENTRY_KIND_CHARGE, 120n],
      [ENTRY_KIND_SHORTFALL, 30n],
    ]);
    expect(applied.changes.account).toMatchObject({ spentNanoUsd: 120n, heldNanoUsd: 0n });
  });

  row('S3', 'captures no excess beyond the limit of the key, nor what other calls hold', () => {
    const limited = apply(touched(hold(), { key: key({ heldNanoUsd: 100n, limitNanoUsd: 105n }) }), settleOperation(150n), nowMs);
    expect(replyOf(limited).hold).toMatchObject({ capturedNanoUsd: 105n, shortfallNanoUsd: 45n });
    const crowded = apply(touched(hold(), { account: account({ heldNanoUsd: 990n }) }), settleOperation(150n), nowMs);
    expect(replyOf(crowded).hold).toMatchObject({ capturedNanoUsd: 110n, shortfallNanoUsd: 40n });
    expect(crowded.changes.account).toMatchObject({ heldNanoUsd: 890n, spentNanoUsd: 110n });
  });

  row('S4', 'charges beyond the checkpoint of an expired hold from what is free', () => {
    const applied = apply(touched(expired), settleOperation(90n), nowMs);
    expect(replyOf(applied)).toMatchObject({ replayed: false, hold: { state: HOLD_STATE_SETTLED, capturedNanoUsd: 90n } });
    expect(entriesOf(applied)).toEqual([[ENTRY_KIND_CHARGE, 30n]]);
    expect(applied.changes.account).toMatchObject({ spentNanoUsd: 90n, heldNanoUsd: 0n });
  });

  row('S4', 'books the rest as a shortfall, and nothing when the checkpoint was the cost', () => {
    const poor = apply(touched(expired, { account: account({ creditedNanoUsd: 65n, spentNanoUsd: 60n }) }), settleOperation(90n), nowMs);
    expect(replyOf(poor).hold).toMatchObject({ capturedNanoUsd: 65n, shortfallNanoUsd: 25n });
    expect(apply(touched(expired), settleOperation(60n), nowMs).changes).toMatchObject({
      hold: { state: HOLD_STATE_SETTLED },
      entries: [],
    });
  });

  row('S5', 'returns what expiry captured in excess to the account and to the key', () => {
    const applied = apply(touched(expired), settleOperation(45n), nowMs);
    expect(applied.changes.hold).toMatchObject({ state: HOLD_STATE_SETTLED, capturedNanoUsd: 45n, shortfallNanoUsd: 0n });
    expect(entriesOf(applied)).toEqual([[ENTRY_KIND_CHARGE_CORRECTION, 15n]]);
    expect(applied.changes.entries?.[0]?.linkedEntryId).toBe(entryId(accountId, 9n));
    expect(applied.changes.account?.spentNanoUsd).toBe(45n);
    expect(applied.changes.key?.spentNanoUsd).toBe(45n);
  });

  row('S6', 'returns the first outcome for the same cost', () => {
    const settled = hold({ state: HOLD_STATE_SETTLED, capturedNanoUsd: 70n, shortfallNanoUsd: 5n });
    expect(apply(touched(settled), settleOperation(75n), nowMs)).toEqual({ reply: { hold: settled, replayed: true }, changes: {} });
  });

  row('S7', 'refuses a different cost', () => {
    const settled = hold({ state: HOLD_STATE_SETTLED, capturedNanoUsd: 70n, shortfallNanoUsd: 5n });
    for (const costNanoUsd of [70n, 76n, 0n]) expectRefused(touched(settled), settleOperation(costNanoUsd), 'idempotency_mismatch');
  });

  row('S8', 'accepts a zero cost for a released call that paid nothing', () => {
    for (const stored of [tombstone, hold({ state: HOLD_STATE_RELEASED })]) {
      expect(apply(touched(stored), settleOperation(0n), nowMs)).toEqual({ reply: { hold: stored, replayed: true }, changes: {} });
    }
  });

  row('S9', 'refuses to settle a released call at any cost but zero, and at zero if it has paid something', () => {
    const released = hold({ state: HOLD_STATE_RELEASED, capturedNanoUsd: 3n });
    for (const stored of [tombstone, released]) expectRefused(touched(stored), settleOperation(3n), 'hold_closed');
    expectRefused(touched(released), settleOperation(0n), 'hold_closed');
  });

  row('S10', 'charges an unknown hold from what is free in the account and the key', () => {
    const applied = apply(touched(undefined, { key: key({ limitNanoUsd: 30n }) }), settleOperation(50n), nowMs);
    expect(replyOf(applied)).toMatchObject({
      replayed: false,
      hold: { state: HOLD_STATE_SETTLED, amountNanoUsd: 0n, capturedNanoUsd: 30n, shortfallNanoUsd: 20n, keyId },
    });
    expect(entriesOf(applied)).toEqual([
      [ENTRY_KIND_CHARGE, 30n],
      [ENTRY_KIND_SHORTFALL, 20n],
    ]);
    const nobody = apply(
      { account: undefined, key: undefined, budgets: [], hold: undefined, record: undefined },
      settleOperation(50n),
      nowMs,
    );
    expect(replyOf(nobody).hold).toMatchObject({ capturedNanoUsd: 0n, shortfallNanoUsd: 50n });
  });

  row('S11', 'requires the key for an unknown hold', () => {
    const { refusal } = expectRefused(touched(undefined), settleOperation(50n, { keyId: undefined }), 'invalid_request');
    expect(refusal?.details).toEqual({ field: 'key_id' });
    expect(replyOf(apply(touched(hold()), settleOperation(50n, { keyId: undefined }), nowMs)).hold.capturedNanoUsd).toBe(50n);
  });

  row('S14', 'charges nothing for an unknown call of which the caller has no record', () => {
    const { refusal } = expectRefused(touched(undefined), settleOperation(50n, { isRecorded: false }), 'not_found');
    expect(refusal?.details).toEqual({ what: 'hold' });
    expect(replyOf(apply(touched(hold()), settleOperation(50n, { isRecorded: false }), nowMs)).hold.capturedNanoUsd).toBe(50n);
  });

  row('S13', 'refuses what may have been settled and archived, and accepts what cannot have been', () => {
    const createdAtMs = Number.parseInt(settleOperation(70n).holdId.slice(4, 16), 16);
    expectRefused({ ...touched(undefined), archivedUntilMs: createdAtMs + 1 }, settleOperation(70n), 'hold_closed');
    expect(entriesOf(apply({ ...touched(undefined), archivedUntilMs: createdAtMs }, settleOperation(70n), nowMs))).toEqual([
      [EntryKind.ENTRY_KIND_CHARGE, 70n],
    ]);
  });

  row('S12', 'refuses a key that is not the hold’s', () => {
    expectRefused(touched(hold()), settleOperation(50n, { keyId: `key_${'d'.repeat(32)}` }), 'idempotency_mismatch');
  });
});
