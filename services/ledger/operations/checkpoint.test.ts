import { describe, expect } from '@jest/globals';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import type { Applied, HoldRecord } from '../books/model.js';
import { outcomeRows } from '../testing/outcome-table.js';
import { accountId, expired, hold, holdId, nowMs, tombstone, touched } from '../testing/records.js';

const { HOLD_STATE_SETTLED, HOLD_STATE_RELEASED } = HoldState;
const row = outcomeRows('C');

describe('Checkpoint', () => {
  const checkpoint = (stored: HoldRecord | undefined, costSoFarNanoUsd: bigint, ttlMs = 60_000): Applied<{ renewed: boolean }> =>
    apply(touched(stored), { kind: 'checkpoint', accountId, holdId, costSoFarNanoUsd, ttlMs }, nowMs);

  row('C1', 'records a higher cost, never a lower one, and at most the amount', () => {
    const noted = hold({ checkpointNanoUsd: 50n });
    expect(checkpoint(noted, 51n).changes.hold?.checkpointNanoUsd).toBe(51n);
    expect(checkpoint(noted, 49n).changes.hold?.checkpointNanoUsd).toBe(50n);
    expect(checkpoint(noted, 101n).changes.hold?.checkpointNanoUsd).toBe(100n);
    expect(checkpoint(noted, 51n)).toMatchObject({ reply: { renewed: true } });
    expect(checkpoint(noted, 51n).changes.account).toBeUndefined();
  });

  row('C1', 'moves the expiry later, never earlier', () => {
    expect(checkpoint(hold(), 0n, 60_000).changes.hold?.expiresAtMs).toBe(nowMs + 60_000);
    expect(checkpoint(hold(), 0n, 1_000).changes.hold?.expiresAtMs).toBe(nowMs + 50_000);
  });

  row('C2', 'renews a hold that is past its expiry but still open', () => {
    expect(checkpoint(hold({ expiresAtMs: nowMs - 5_000 }), 10n).changes.hold).toMatchObject({
      checkpointNanoUsd: 10n,
      expiresAtMs: nowMs + 60_000,
    });
  });

  row('C3', 'changes nothing about a hold that is unknown or has ended', () => {
    for (const stored of [undefined, tombstone, expired, hold({ state: HOLD_STATE_SETTLED }), hold({ state: HOLD_STATE_RELEASED })]) {
      expect(checkpoint(stored, 10n)).toEqual({ reply: { renewed: false }, changes: {} });
    }
  });
});
