import { describe, expect } from '@jest/globals';
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { EntryKind, HoldState } from '#proto/ledger/v1/ledger.js';
import type { BudgetBucket, PathBudget, Touched } from '../books/model.js';
import { bucketsOfPath } from '../budgets/buckets.js';
import { entriesOf, expectRefused, outcomeRows, replyOf } from '../testing/outcome-table.js';
import {
  account,
  accountId,
  budget,
  expired,
  hold,
  holdOperation,
  key,
  nowMs,
  refundOperation,
  settleOperation,
  touched,
} from '../testing/records.js';
import { apply } from './apply.js';

const row = outcomeRows('B');

/** Returns the bucket of a budget with these amounts. */
function bucket(of: PathBudget, spentNanoUsd: bigint, heldNanoUsd = 0n): BudgetBucket {
  return { ...bucketsOfPath(accountId, [of], [])[0]!, spentNanoUsd, heldNanoUsd };
}

describe('Budgets', () => {
  const fresh: Touched = { account: account(), key: undefined, budgets: [], hold: undefined, record: undefined };

  row('B1', 'sets the amount aside in every budget on the path', () => {
    const path = [budget(1), budget(2), budget(3), budget(4), budget(5)];
    const { changes } = apply({ ...fresh, budgets: [bucket(path[1]!, 10n, 5n)] }, holdOperation({ budgets: path }), nowMs);
    expect(changes.budgets?.map(({ heldNanoUsd }) => heldNanoUsd)).toEqual([100n, 105n, 100n, 100n, 100n]);
    expect(changes.hold?.budgets).toEqual(path.map(({ scopeId }) => scopeId));
  });

  row('B2', 'grants what the tightest hard budget has, down to the minimum', () => {
    const path = [budget(1, { limitNanoUsd: 70n }), budget(2, { limitNanoUsd: 45n }), budget(3, { limitNanoUsd: 5n, isSoft: true })];
    const { changes } = apply(fresh, holdOperation({ budgets: path }), nowMs);
    expect(changes.hold?.amountNanoUsd).toBe(45n);
    expect(changes.budgets?.map(({ heldNanoUsd }) => heldNanoUsd)).toEqual([45n, 45n, 45n]);
  });

  row('B3', 'refuses when a budget is spent, and says which and when it resets', () => {
    const spent = budget(2, { limitNanoUsd: 100n, scope: BudgetScope.BUDGET_SCOPE_PROJECT, ownerId: `proj_${'d'.repeat(32)}` });
    const { refusal, changes } = expectRefused(
      { ...fresh, budgets: [bucket(spent, 61n)] },
      holdOperation({ budgets: [budget(1), spent] }),
      'budget_reached',
    );
    expect(refusal?.details).toEqual({
      rule: 'budget_needed',
      needed_nano_usd: '40',
      available_nano_usd: '39',
      held_nano_usd: '0',
      limit_nano_usd: '100',
      spent_nano_usd: '61',
      budget_id: spent.budgetId,
      scope: 'project',
      scope_id: spent.ownerId,
      period: 'month',
      resets_at: '2027-02-01T00:00:00+08:00',
      time_zone: 'Asia/Shanghai',
    });
    expect(refusal?.message).toContain("This call would exceed the project's budget for this month: $0.00000004 is needed,");
    expect(refusal?.retryAfterMs).toBeUndefined();
    expect(changes.budgets?.every(({ heldNanoUsd }) => heldNanoUsd === 0n)).toBe(true);
  });

  row('B3', 'names no reset of a lifetime budget', () => {
    const lifetime = budget(1, { period: BudgetPeriod.BUDGET_PERIOD_LIFETIME, start: 0, limitNanoUsd: 10n });
    const { refusal } = expectRefused(fresh, holdOperation({ budgets: [lifetime] }), 'budget_reached');
    expect(refusal?.details['resets_at']).toBeUndefined();
    expect(refusal?.message).toContain("This call would exceed the account's lifetime budget");
  });

  row('B4', 'tells the caller to retry when calls in flight hold what is missing', () => {
    const held = budget(1, { limitNanoUsd: 100n });
    const rows = { ...fresh, budgets: [bucket(held, 10n, 60n)] };
    const { refusal } = expectRefused(rows, holdOperation({ budgets: [held] }), 'budget_reached');
    expect(refusal).toMatchObject({ retryAfterMs: 2000, details: { rule: 'budget_held', held_nano_usd: '60', available_nano_usd: '30' } });
    expect(refusal?.message).toMatch(/held\)\. Try again when those calls have ended\.$/);
  });

  row('B4', 'tells the caller to raise the budget when what calls in flight hold is not enough', () => {
    const held = budget(1, { limitNanoUsd: 100n });
    const rows = { ...fresh, budgets: [bucket(held, 61n, 30n)] };
    const { refusal } = expectRefused(rows, holdOperation({ budgets: [held] }), 'budget_reached');
    expect(refusal?.retryAfterMs).toBeUndefined();
    expect(refusal).toMatchObject({ details: { rule: 'budget_short' } });
    expect(refusal?.message).toMatch(/Raise it or wait until then\.$/);
  });

  row('B5', 'names the account and the key before a budget, a spent budget before one that is held, and else the first', () => {
    const [held, first, second] = [budget(1), budget(2), budget(3)].map((each) => ({ ...each, limitNanoUsd: 100n })) as [
      PathBudget,
      PathBudget,
      PathBudget,
    ];
    const budgets = [bucket(held, 0n, 90n), bucket(first, 90n), bucket(second, 95n)];
    const operation = holdOperation({ budgets: [held, first, second] });
    expectRefused({ ...fresh, account: account({ creditedNanoUsd: 10n }), budgets }, operation, 'balance_empty');
    expectRefused({ ...fresh, key: key({ limitNanoUsd: 1n }), budgets }, operation, 'key_limit_reached');
    const { refusal } = expectRefused({ ...fresh, account: account({ heldNanoUsd: 1_000n }), budgets }, operation, 'budget_reached');
    expect(refusal?.details['budget_id']).toBe(first.budgetId);
    const onlyHeld = { ...fresh, account: account({ heldNanoUsd: 1_000n }), budgets: [budgets[0]!] };
    expect(expectRefused(onlyHeld, operation, 'budget_reached').refusal?.details['budget_id']).toBe(held.budgetId);
  });

  row('B6', 'counts a soft budget and refuses nothing', () => {
    const soft = budget(1, { limitNanoUsd: 10n, isSoft: true });
    const { changes } = apply({ ...fresh, budgets: [bucket(soft, 500n, 500n)] }, holdOperation({ budgets: [soft] }), nowMs);
    expect(changes.hold?.amountNanoUsd).toBe(100n);
    expect(changes.budgets?.[0]).toMatchObject({ heldNanoUsd: 600n, spentNanoUsd: 500n });
  });

  row('B7', 'keeps a newer version of a budget, whether it grants or refuses', () => {
    const known = bucket(budget(1, { limitNanoUsd: 10n }), 5n);
    const raised = apply({ ...fresh, budgets: [known] }, holdOperation({ budgets: [budget(1, { version: 2n })] }), nowMs);
    expect(raised.changes.budgets?.[0]).toMatchObject({ limitNanoUsd: 1_000n, limitVersion: 2n, spentNanoUsd: 5n, heldNanoUsd: 100n });
    const softened = budget(1, { limitNanoUsd: 10n, isSoft: true, version: 2n });
    expect(replyOf(apply({ ...fresh, budgets: [known] }, holdOperation({ budgets: [softened] }), nowMs)).hold.amountNanoUsd).toBe(100n);
    const lowered = holdOperation({ budgets: [budget(1, { limitNanoUsd: 1n, version: 2n })] });
    const { changes } = expectRefused({ ...fresh, budgets: [known] }, lowered, 'budget_reached');
    expect(changes.budgets?.[0]).toMatchObject({ limitNanoUsd: 1n, limitVersion: 2n, spentNanoUsd: 5n, heldNanoUsd: 0n });
  });

  row('B8', 'does not go back to an older version', () => {
    const known = bucket(budget(1, { limitNanoUsd: 10n, version: 5n }), 0n);
    for (const version of [4n, 5n]) {
      const operation = holdOperation({ budgets: [budget(1, { version })] });
      expect(expectRefused({ ...fresh, key: key(), budgets: [known] }, operation, 'budget_reached').changes).toEqual({});
    }
  });

  row('B9', 'charges the budgets of the hold, and frees the rest', () => {
    const of = bucket(budget(1), 7n, 130n);
    const other = bucket(budget(2), 3n, 4n);
    const record = hold({ budgets: [of.scopeId] });
    for (const [operation, spent] of [
      [settleOperation(60n), 60n],
      [{ kind: 'release', accountId, holdId: record.id }, 0n],
      [{ kind: 'expire', accountId, holdId: record.id, expiredAtMs: record.expiresAtMs }, 0n],
    ] as const) {
      const { changes } = apply(touched(record, { budgets: [of, other] }), operation, nowMs);
      expect(changes.budgets).toMatchObject([{ scopeId: of.scopeId, spentNanoUsd: 7n + spent, heldNanoUsd: 30n }]);
    }
  });

  row('B10', 'takes of an excess only what is free in every hard budget; the rest is a shortfall', () => {
    const hard = bucket(budget(1, { limitNanoUsd: 150n }), 20n, 100n);
    const soft = bucket(budget(2, { limitNanoUsd: 1n, isSoft: true }), 0n, 100n);
    const record = hold({ budgets: [hard.scopeId, soft.scopeId] });
    const applied = apply(touched(record, { budgets: [hard, soft] }), settleOperation(200n), nowMs);
    expect(entriesOf(applied)).toEqual([
      [EntryKind.ENTRY_KIND_CHARGE, 130n],
      [EntryKind.ENTRY_KIND_SHORTFALL, 70n],
    ]);
    expect(applied.changes.budgets).toMatchObject([
      { spentNanoUsd: 150n, heldNanoUsd: 0n },
      { spentNanoUsd: 130n, heldNanoUsd: 0n },
    ]);
  });

  row('B11', 'gives back to the budgets what expiry captured in excess', () => {
    const of = bucket(budget(1), 60n);
    const record = { ...expired, budgets: [of.scopeId] };
    const { changes } = apply(touched(record, { budgets: [of] }), settleOperation(25n), nowMs);
    expect(changes.budgets?.[0]?.spentNanoUsd).toBe(25n);
  });

  row('B12', 'lowers the spend of the period in which the call was held', () => {
    const [then, now] = [bucket(budget(1), 80n), bucket(budget(2), 10n)];
    const state = HoldState.HOLD_STATE_SETTLED;
    const record = hold({ state, capturedNanoUsd: 75n, chargeSeq: 8n, lastSeq: 8n, budgets: [then.scopeId] });
    const { changes } = apply(touched(record, { budgets: [then, now] }), refundOperation(30n), nowMs);
    expect(changes.budgets).toMatchObject([{ scopeId: then.scopeId, spentNanoUsd: 50n }]);
  });

  row('B13', 'makes an alert due once for each share of the limit that the spend reaches', () => {
    let present = bucket(budget(1, { limitNanoUsd: 200n, alertPercents: [50, 80, 100], isSoft: true }), 0n);
    const due = (costNanoUsd: bigint): readonly number[] => {
      const record = hold({ amountNanoUsd: 1_000n, budgets: [present.scopeId] });
      const rows = touched(record, { account: account({ creditedNanoUsd: 9_000n, heldNanoUsd: 1_000n }), budgets: [present] });
      const { changes } = apply({ ...rows, key: key({ heldNanoUsd: 1_000n }) }, settleOperation(costNanoUsd), nowMs);
      present = { ...changes.budgets![0]!, heldNanoUsd: 0n };
      return (changes.dueAlerts ?? []).map(({ percent }) => percent);
    };
    expect([99n, 1n, 1n, 70n].map(due)).toEqual([[], [50], [], [80]]);
    // Neither a refund nor a newer version of the budget makes an alert due again.
    const renewed = budget(1, { limitNanoUsd: 200n, alertPercents: [50, 80, 100], isSoft: true, version: 2n });
    present = { ...bucketsOfPath(accountId, [renewed], [present])[0]!, spentNanoUsd: 0n };
    expect([199n, 1n, 500n].map(due)).toEqual([[], [100], []]);
  });

  row('B13', 'sends only the highest of several alerts that one charge makes due, and one that a lower limit makes due', () => {
    const of = bucket(budget(1, { limitNanoUsd: 100n, alertPercents: [50, 80, 100] }), 0n, 100n);
    const applied = apply(touched(hold({ budgets: [of.scopeId] }), { budgets: [of] }), settleOperation(85n), nowMs);
    expect(applied.changes.dueAlerts).toEqual([{ accountId, scopeId: of.scopeId, percent: 80, spentNanoUsd: 85n, atMs: nowMs }]);
    const lowered = budget(1, { limitNanoUsd: 84n, alertPercents: [50, 80, 100], version: 2n });
    const refused = apply({ ...fresh, budgets: applied.changes.budgets! }, holdOperation({ budgets: [lowered] }), nowMs);
    expect(refused.changes.dueAlerts).toMatchObject([{ percent: 100 }]);
  });
});
