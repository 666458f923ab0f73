import { describe, expect } from '@jest/globals';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import type { Applied, HoldRecord } from '../books/model.js';
import { entriesOf, outcomeRows, replyOf } from '../testing/outcome-table.js';
import { accountId, expired, hold, holdId, nowMs, tombstone, touched } from '../testing/records.js';

const { HOLD_STATE_SETTLED, HOLD_STATE_RELEASED, HOLD_STATE_EXPIRED } = HoldState;
const { ENTRY_KIND_CHARGE } = EntryKind;
const row = outcomeRows('RE');

describe('Release', () => {
  const release = (stored: HoldRecord | undefined): Applied<{ hold: HoldRecord | undefined }> =>
    apply(touched(stored), { kind: 'release', accountId, holdId }, nowMs);

  row('R1', 'captures the checkpoint and frees the rest', () => {
    const applied = release(hold({ checkpointNanoUsd: 25n }));
    expect(applied.changes.hold).toMatchObject({ state: HOLD_STATE_RELEASED, capturedNanoUsd: 25n });
    expect(applied.changes.account).toMatchObject({ spentNanoUsd: 25n, heldNanoUsd: 0n });
    expect(entriesOf(applied)).toEqual([[ENTRY_KIND_CHARGE, 25n]]);
    expect(entriesOf(release(hold()))).toEqual([]);
  });

  row('R2', 'leaves an ended hold as it is', () => {
    for (const stored of [expired, hold({ state: HOLD_STATE_SETTLED }), hold({ state: HOLD_STATE_RELEASED })]) {
      expect(release(stored)).toEqual({ reply: { hold: stored }, changes: {} });
    }
  });

  row('R3', 'leaves a tombstone for an unknown hold', () => {
    const applied = release(undefined);
    expect(replyOf(applied).hold).toBeUndefined();
    expect(applied.changes).toEqual({
      hold: expect.objectContaining({ id: holdId, keyId: undefined, state: HOLD_STATE_RELEASED, amountNanoUsd: 0n }),
    });
  });

  row('R4', 'finds its own tombstone', () => {
    expect(release(tombstone)).toEqual({ reply: { hold: undefined }, changes: {} });
  });
});

describe('Expire', () => {
  const expire = (stored: HoldRecord | undefined, expiredAtMs: number): Applied<{ hold: HoldRecord | undefined }> =>
    apply(touched(stored), { kind: 'expire', accountId, holdId, expiredAtMs }, nowMs);

  row('E1', 'captures the checkpoint and frees the rest', () => {
    const applied = expire(hold({ checkpointNanoUsd: 25n, expiresAtMs: nowMs - 500 }), nowMs - 500);
    expect(applied.changes.hold).toMatchObject({ state: HOLD_STATE_EXPIRED, capturedNanoUsd: 25n, lastSeq: 10n });
    expect(applied.changes.account).toMatchObject({ spentNanoUsd: 25n, heldNanoUsd: 0n });
    expect(applied.changes.key).toMatchObject({ spentNanoUsd: 25n, heldNanoUsd: 0n });
  });

  row('E2', 'leaves a hold that was renewed or has ended', () => {
    expect(expire(hold({ expiresAtMs: nowMs - 499 }), nowMs - 500)).toEqual({ reply: { hold: undefined }, changes: {} });
    for (const stored of [undefined, tombstone, expired, hold({ state: HOLD_STATE_SETTLED, expiresAtMs: 0 })]) {
      expect(expire(stored, nowMs)).toEqual({ reply: { hold: undefined }, changes: {} });
    }
  });
});
