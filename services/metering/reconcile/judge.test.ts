// What counts as a drift of one call, and for how long a call in progress does not: each limit is tested on both sides.
import { describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { Hold, HoldState } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, LineItem, UsageRecord } from '#proto/metering/v1/metering.js';
import { call as callOf, price as priceOf, startedAtMs } from '../testing/calls.js';
import { type Evidence, judge, type Rules } from './judge.js';

const startMs = Number(startedAtMs);
const hourMs = 3_600_000;
const charge = 200_000n;
const price = priceOf();
const call = callOf({ price });
const hold = Hold.fromPartial({
  id: call.id,
  accountId: call.accountId,
  keyId: call.keyId,
  state: HoldState.HOLD_STATE_SETTLED,
  amountNanoUsd: call.heldNanoUsd,
  capturedNanoUsd: 150_000n,
  shortfallNanoUsd: 50_000n,
  createdAtMs: startedAtMs,
  expiresAtMs: startedAtMs + 60_000n,
});
const record = UsageRecord.fromPartial({
  call,
  chargeNanoUsd: charge,
  lineItems: [LineItem.fromPartial({ amountNanoUsd: 120_000n }), LineItem.fromPartial({ amountNanoUsd: 80_000n })],
  recordedAtMs: startedAtMs + 1000n,
  settlement: { capturedNanoUsd: 150_000n, shortfallNanoUsd: 50_000n },
});
const settled: Evidence = {
  callId: call.id,
  accountId: call.accountId,
  record,
  queued: undefined,
  isClosed: false,
  isInFlight: false,
  hold,
  price: { price, untilMs: undefined },
};
const unsettledRecord = { ...record, settlement: undefined };
const waiting: Evidence = {
  ...settled,
  record: unsettledRecord,
  queued: { chargeNanoUsd: charge, isRefused: false, isDeferred: false },
  hold: { ...hold, state: HoldState.HOLD_STATE_OPEN, expiresAtMs: startedAtMs + 1_000_000_000n },
};
const expired: Evidence = { ...settled, record: undefined, hold: { ...hold, state: HoldState.HOLD_STATE_EXPIRED } };
const rules: Rules = {
  nowMs: startMs + 10_000,
  unsettledMs: 300_000,
  reportableSinceMs: 0,
  holdsArchivedUntilMs: -Infinity,
  recordsArchivedUntilMs: 0,
};

/** Returns the drifts of a call as [check, subject, stored, expected], and "finished" or "in progress". */
function judged(evidence: Evidence, changes: Partial<Rules> = {}): unknown[] {
  const { drifts, isFinished } = judge(evidence, { ...rules, ...changes });
  for (const drift of drifts) expect(drift).toMatchObject({ callId: evidence.callId, accountId: evidence.accountId });
  return [
    ...drifts.map(({ check, subject, stored, expected }) => [check, subject, stored, expected]),
    isFinished ? 'finished' : 'in progress',
  ];
}

describe('a settled call', () => {
  it('is correct', () => {
    expect(judged(settled)).toEqual(['finished']);
  });

  it('has the price of its model that was in force when it started', () => {
    const priced = (changes: Partial<NonNullable<Evidence['price']>>) =>
      judged({ ...settled, price: { price, untilMs: undefined, ...changes } });
    const from = (effectiveFromMs: bigint) => {
      const begun = { ...price, effectiveFromMs };
      return judged({ ...settled, record: { ...record, call: { ...call, price: begun } }, price: { price: begun, untilMs: undefined } });
    };
    expect([priced({ untilMs: startedAtMs + 1n }), from(startedAtMs)]).toEqual([['finished'], ['finished']]);
    const check = DriftCheck.DRIFT_CHECK_PRICE;
    expect(priced({ untilMs: startedAtMs })).toEqual([
      [check, 'start of a call whose price had ended', startedAtMs, startedAtMs],
      'finished',
    ]);
    expect(from(startedAtMs + 1n)).toEqual([[check, 'start of a call whose price began later', startedAtMs, startedAtMs + 1n], 'finished']);
    expect(priced({ price: { ...price, effectiveFromMs: price.effectiveFromMs - 1n } })).toEqual([
      [check, 'start of the price', price.effectiveFromMs, price.effectiveFromMs - 1n],
      'finished',
    ]);
    expect(priced({ price: { ...price, modelId: 'sandbox/other' } })).toEqual([
      [check, 'price of sandbox/echo, published for sandbox/other', 0n, 0n],
      'finished',
    ]);
    expect(judged({ ...settled, price: undefined })).toEqual([
      [check, `price version ${price.id} that the catalog does not know`, 0n, 0n],
      'finished',
    ]);
  });

  it('took from its account exactly what is on record', () => {
    expect(judged({ ...settled, record: { ...record, settlement: { ...record.settlement!, shortfallNanoUsd: 49_999n } } })).toEqual([
      [DriftCheck.DRIFT_CHECK_SETTLEMENT, 'captured and shortfall on record', 199_999n, charge],
      [DriftCheck.DRIFT_CHECK_HOLD, 'shortfall of the hold', 50_000n, 49_999n],
      'finished',
    ]);
  });

  it('may have a released hold only if it was free', () => {
    const released = { ...hold, state: HoldState.HOLD_STATE_RELEASED, keyId: '', amountNanoUsd: 0n };
    const nothing = { capturedNanoUsd: 0n, shortfallNanoUsd: 0n };
    const free = { ...record, chargeNanoUsd: 0n, lineItems: [], settlement: { ...record.settlement!, ...nothing } };
    expect(judged({ ...settled, record: free, hold: { ...released, ...nothing } })).toEqual(['finished']);
    const check = DriftCheck.DRIFT_CHECK_HOLD;
    const wrong = (word: string, state: HoldState) => [
      [check, `state of the hold of a settled call: ${word}`, BigInt(state), BigInt(HoldState.HOLD_STATE_SETTLED)],
      'finished',
    ];
    const { HOLD_STATE_RELEASED, HOLD_STATE_EXPIRED } = HoldState;
    expect(judged({ ...settled, hold: { ...hold, state: HOLD_STATE_RELEASED } })).toEqual(wrong('released', HOLD_STATE_RELEASED));
    const ended = { ...hold, ...nothing, state: HOLD_STATE_EXPIRED };
    expect(judged({ ...settled, record: free, hold: ended })).toEqual(wrong('expired', HOLD_STATE_EXPIRED));
  });

  it('has a hold until the ledger archives it, an hour of difference between the clocks included', () => {
    const lost = { ...settled, hold: undefined };
    const drift = [DriftCheck.DRIFT_CHECK_HOLD, 'hold of a settled call, which is missing', 0n, charge];
    expect(judged(lost)).toEqual([drift, 'finished']);
    expect(judged(lost, { holdsArchivedUntilMs: startMs - hourMs })).toEqual([drift, 'finished']);
    expect(judged(lost, { holdsArchivedUntilMs: startMs - hourMs + 1 })).toEqual(['finished']);
  });
});

describe('a recorded call whose charge waits for the ledger', () => {
  const late = [DriftCheck.DRIFT_CHECK_UNSETTLED, 'charge that has waited too long', 0n, charge];
  const recordedMs = startMs + 1000;

  it('is in progress until it has waited too long', () => {
    expect(judged(waiting, { nowMs: recordedMs + 300_000 })).toEqual(['in progress']);
    // Its hold is still open.
    expect(judged(waiting, { nowMs: recordedMs + 300_001 })).toEqual([late, 'in progress']);
    expect(judged({ ...waiting, hold: expired.hold }, { nowMs: recordedMs + 300_001 })).toEqual([late, 'finished']);
    expect(judged({ ...waiting, hold: expired.hold }, { nowMs: recordedMs + 300_000 })).toEqual(['in progress']);
  });

  it('may wait until gateways have had time to report it, if it was lost', () => {
    const lost = { ...waiting, queued: { ...waiting.queued!, isDeferred: true }, hold: expired.hold };
    const nowMs = recordedMs + 900_000;
    expect(judged(lost, { nowMs, reportableSinceMs: nowMs - 300_000 })).toEqual(['in progress']);
    expect(judged(lost, { nowMs, reportableSinceMs: nowMs - 300_001 })).toEqual([late, 'finished']);
    expect(judged(lost, { nowMs: recordedMs + 300_000 })).toEqual(['in progress']);
    // Any other charge waits for the ledger only.
    expect(judged({ ...waiting, hold: expired.hold }, { nowMs, reportableSinceMs: nowMs })).toEqual([late, 'finished']);
  });

  it('is settled, waiting, refused or closed', () => {
    const { hold: ended } = expired;
    expect(judged({ ...waiting, hold: ended, queued: undefined })).toEqual([
      [DriftCheck.DRIFT_CHECK_OUTBOX_LOST, 'charge that is neither settled nor waiting', 0n, charge],
      'finished',
    ]);
    expect(judged({ ...waiting, hold: ended, queued: { ...waiting.queued!, isRefused: true, chargeNanoUsd: 1n } })).toEqual([
      [DriftCheck.DRIFT_CHECK_CHARGE, 'charge that waits for the ledger', 1n, charge],
      [DriftCheck.DRIFT_CHECK_REJECTED, 'charge that the ledger refused', 0n, charge],
      'finished',
    ]);
    expect(judged({ ...waiting, hold: ended, queued: undefined, isClosed: true })).toEqual(['finished']);
  });
});

describe('a hold without a record', () => {
  const captured = [DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'captured by a hold that expired without a record', charge, 0n];
  const expiryMs = startMs + 60_000;
  const missed = { nowMs: expiryMs + 300_001 };

  it('is in progress while it is open, and overdue a minute after its expiry', () => {
    const open = { ...expired, hold: { ...hold, state: HoldState.HOLD_STATE_OPEN } };
    expect(judged(open, { nowMs: expiryMs + 60_000 })).toEqual(['in progress']);
    expect(judged(open, { nowMs: expiryMs + 60_001 })).toEqual([
      [DriftCheck.DRIFT_CHECK_HOLD_OVERDUE, 'held after its expiry', hold.amountNanoUsd, 0n],
      'finished',
    ]);
  });

  it('may yet be recorded for a while after its expiry, and as long as its call is in flight', () => {
    expect(judged(expired, { nowMs: expiryMs + 300_000 })).toEqual(['in progress']);
    expect(judged(expired, missed)).toEqual([captured, 'finished']);
    expect(judged({ ...expired, isInFlight: true }, missed)).toEqual(['in progress']);
    const free = { ...expired.hold!, capturedNanoUsd: 0n, shortfallNanoUsd: 0n };
    expect(judged({ ...expired, hold: free }, missed)).toEqual(['finished']);
  });

  it('is never settled', () => {
    expect(judged({ ...settled, record: undefined, queued: { chargeNanoUsd: 7n, isRefused: false, isDeferred: false } })).toEqual([
      [DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'charge that waits without a record', 7n, 0n],
      [DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'settled without a record', charge, 0n],
      'finished',
    ]);
  });

  it('may have one in the archive of the records, an hour of difference between the clocks included', () => {
    expect(judged(expired, { ...missed, recordsArchivedUntilMs: startMs - hourMs })).toEqual([captured, 'finished']);
    expect(judged(expired, { ...missed, recordsArchivedUntilMs: startMs - hourMs + 1 })).toEqual(['finished']);
  });
});

describe('a hold that is not that of its record', () => {
  it.each<[string, Partial<Hold>, unknown[][]]>([
    ['another key', { keyId: newId('key') }, [[DriftCheck.DRIFT_CHECK_HOLD, expect.stringMatching(/^key of the hold: key_/), 0n, 0n]]],
    ['another amount', { amountNanoUsd: 1n }, [[DriftCheck.DRIFT_CHECK_HOLD, 'amount of the hold', 1n, call.heldNanoUsd]]],
    ['no amount, since its settlement created it', { amountNanoUsd: 0n }, []],
    ['another capture', { capturedNanoUsd: 1n }, [[DriftCheck.DRIFT_CHECK_HOLD, 'captured by the hold', 1n, 150_000n]]],
  ])('has %s', (_what, changes, drifts) => {
    expect(judged({ ...settled, hold: { ...hold, ...changes } })).toEqual([...drifts, 'finished']);
  });
});
