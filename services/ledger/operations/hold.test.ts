import { describe, expect } from '@jest/globals';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { apply } from './apply.js';
import type { Touched } from '../books/model.js';
import { expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import { account, expired, hold, holdOperation, key, nowMs, tombstone, touched } from '../testing/records.js';

const { HOLD_STATE_OPEN, HOLD_STATE_SETTLED, HOLD_STATE_RELEASED, HOLD_STATE_EXPIRED } = HoldState;
const row = outcomeRows('H');

describe('Hold', () => {
  const fresh: Touched = { account: account(), key: undefined, budgets: [], hold: undefined, record: undefined };

  row('H1', 'sets the whole amount aside in the account and in the key', () => {
    const { changes } = apply(fresh, holdOperation(), nowMs);
    expect(changes.hold).toMatchObject({ state: HOLD_STATE_OPEN, amountNanoUsd: 100n, expiresAtMs: nowMs + 60_000, checkpointNanoUsd: 0n });
    expect(changes.account?.heldNanoUsd).toBe(100n);
    expect(changes.key?.heldNanoUsd).toBe(100n);
    expect(changes.entries ?? []).toEqual([]);
  });

  row('H2', 'grants what the account has, down to the minimum', () => {
    expect(replyOf(apply({ ...fresh, account: account({ creditedNanoUsd: 40n }) }, holdOperation(), nowMs)).hold.amountNanoUsd).toBe(40n);
  });

  row('H2', 'grants what the key has, down to the minimum', () => {
    const rows = { ...fresh, key: key({ limitNanoUsd: 90n, spentNanoUsd: 20n, heldNanoUsd: 10n }) };
    const { changes } = apply(rows, holdOperation(), nowMs);
    expect(changes.hold?.amountNanoUsd).toBe(60n);
    expect(changes.account?.heldNanoUsd).toBe(60n);
  });

  row('H11', 'grants a hold of zero to an empty account and to a key at its limit, and sets nothing aside', () => {
    const free = { amountNanoUsd: 0n, minAmountNanoUsd: 0n };
    for (const rows of [
      { ...fresh, account: undefined },
      { ...fresh, account: account({ creditedNanoUsd: 5n, spentNanoUsd: 5n }), key: key({ limitNanoUsd: 1n, spentNanoUsd: 5n }) },
    ]) {
      const { changes } = apply(rows, holdOperation(free), nowMs);
      expect(changes.hold).toMatchObject({ state: HOLD_STATE_OPEN, amountNanoUsd: 0n });
      expect(changes.account?.heldNanoUsd).toBe(0n);
    }
  });

  row('H3', 'reports an empty balance, with the amounts', () => {
    const rows = { ...fresh, account: account({ creditedNanoUsd: 139n, spentNanoUsd: 100n, heldNanoUsd: 20n }) };
    const { refusal } = expectRefused(rows, holdOperation(), 'balance_empty');
    expect(refusal?.details).toEqual({
      rule: 'balance_needed',
      needed_nano_usd: '40',
      available_nano_usd: '19',
      held_nano_usd: '20',
      credited_nano_usd: '139',
      spent_nano_usd: '100',
    });
    expect(refusal?.message).toContain('$0.00000004 is needed, but only $0.000000019 is available');
    expect(refusal?.retryAfterMs).toBeUndefined();
  });

  row('H3', 'names the account before the key when both are short', () => {
    expectRefused(
      { ...fresh, account: account({ creditedNanoUsd: 0n }) },
      holdOperation({ limitNanoUsd: 0n, limitVersion: 2n }),
      'balance_empty',
    );
  });

  row('H4', 'reports that the limit is reached, without a retry time when it is spent', () => {
    const rows = { ...fresh, key: key({ limitNanoUsd: 100n, spentNanoUsd: 61n }) };
    const { refusal } = expectRefused(rows, holdOperation(), 'key_limit_reached');
    expect(refusal?.details).toEqual({
      rule: 'key_limit_needed',
      needed_nano_usd: '40',
      available_nano_usd: '39',
      held_nano_usd: '0',
      limit_nano_usd: '100',
      spent_nano_usd: '61',
    });
    expect(refusal?.retryAfterMs).toBeUndefined();
  });

  row('H4', 'gives a retry time when calls in flight hold what is missing of the limit', () => {
    const rows = { ...fresh, key: key({ limitNanoUsd: 100n, spentNanoUsd: 60n, heldNanoUsd: 1n }) };
    expect(expectRefused(rows, holdOperation(), 'key_limit_reached').refusal?.retryAfterMs).toBe(2000);
  });

  row('H4', 'has nothing available when the limit was lowered below the spend', () => {
    const rows = { ...fresh, key: key({ spentNanoUsd: 500n }) };
    const { refusal } = expectRefused(rows, holdOperation({ limitNanoUsd: 100n, limitVersion: 2n }), 'key_limit_reached');
    expect(refusal?.details['available_nano_usd']).toBe('0');
  });

  row('H5', 'reports that calls in flight hold the money, and when to retry', () => {
    const rows = { ...fresh, account: account({ creditedNanoUsd: 100n, heldNanoUsd: 61n }) };
    const { refusal } = expectRefused(rows, holdOperation(), 'balance_held');
    expect(refusal?.retryAfterMs).toBe(2000);
    expect(refusal?.details).toMatchObject({ available_nano_usd: '39', held_nano_usd: '61' });
  });

  row('H6', 'keeps a newer limit, whether it grants or refuses', () => {
    const granted = apply({ ...fresh, key: key({ limitNanoUsd: 10n }) }, holdOperation({ limitNanoUsd: 200n, limitVersion: 2n }), nowMs);
    expect(granted.changes.key).toMatchObject({ limitNanoUsd: 200n, limitVersion: 2n, heldNanoUsd: 100n });
    const removed = apply({ ...fresh, key: key({ limitNanoUsd: 10n }) }, holdOperation({ limitVersion: 2n }), nowMs);
    expect(removed.changes.key).toMatchObject({ limitNanoUsd: undefined, limitVersion: 2n });
    const rejected = expectRefused({ ...fresh, key: key() }, holdOperation({ limitNanoUsd: 39n, limitVersion: 2n }), 'key_limit_reached');
    expect(rejected.changes.key).toMatchObject({ limitNanoUsd: 39n, limitVersion: 2n, heldNanoUsd: 0n });
  });

  row('H7', 'does not go back to an older limit', () => {
    const rows = { ...fresh, key: key({ limitNanoUsd: 39n, limitVersion: 5n }) };
    for (const limitVersion of [4n, 5n]) {
      expect(expectRefused(rows, holdOperation({ limitVersion }), 'key_limit_reached').changes).toEqual({});
    }
  });

  row('H8', 'returns the stored hold and sets nothing aside again', () => {
    for (const stored of [hold(), hold({ state: HOLD_STATE_SETTLED, capturedNanoUsd: 5n }), expired]) {
      expect(apply(touched(stored), holdOperation(), nowMs)).toEqual({ reply: { hold: stored, replayed: true }, changes: {} });
    }
  });

  row('H9', 'refuses different parameters under a used id, whatever the state of the hold', () => {
    for (const state of [HOLD_STATE_OPEN, HOLD_STATE_SETTLED, HOLD_STATE_RELEASED, HOLD_STATE_EXPIRED]) {
      expectRefused(touched(hold({ state })), holdOperation({ fingerprint: 'f2' }), 'idempotency_mismatch');
    }
  });

  row('H10', 'refuses an id that was released, released before it arrived, or charged without a hold', () => {
    for (const stored of [hold({ state: HOLD_STATE_RELEASED }), tombstone, hold({ state: HOLD_STATE_SETTLED, fingerprint: undefined })]) {
      expectRefused(touched(stored), holdOperation(), 'hold_closed');
    }
  });
});
