import { describe, expect, it } from '@jest/globals';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import type { BudgetBucket, PathBudget } from '../books/model.js';
import { accountId, budget } from '../testing/records.js';
import { budgetOfText } from './budget-text.js';
import { bucketsOfPath, budgetChanges, moved, projectShareOf } from './buckets.js';

const ofProject = { scope: BudgetScope.BUDGET_SCOPE_PROJECT, ownerId: `proj_${'1'.repeat(32)}` };

/** Returns the buckets of the path, with this much spent from each. */
function spent(path: readonly PathBudget[], ...amounts: bigint[]): BudgetBucket[] {
  return bucketsOfPath(accountId, path, []).map((bucket, index) => moved(bucket, { spentNanoUsd: amounts[index]! }));
}

describe('The share of a project', () => {
  it('is that of the budget of which the largest share is spent, whichever comes first', () => {
    const path = [budget(1, ofProject), budget(2, ofProject), budget(3, ofProject)];
    const shareOf = (...amounts: bigint[]) => projectShareOf(path, spent(path, ...amounts));
    expect(shareOf(100n, 300n, 200n)).toMatchObject({ budget: { budgetId: path[1]!.budgetId }, spentPercent: 30 });
    expect(shareOf(300n, 100n, 200n)).toMatchObject({ budget: { budgetId: path[0]!.budgetId }, spentPercent: 30 });
  });

  it('ignores budgets of the account and of the key', () => {
    const path = [budget(1, { scope: BudgetScope.BUDGET_SCOPE_KEY }), budget(2)];
    expect(projectShareOf(path, spent(path, 900n, 900n))).toBeUndefined();
  });

  it.each([
    // Rounded down: less than the whole limit is never shown as all of it.
    [1_000n, 999n, 99],
    [1_000n, 9_999n, 999],
    [1_000n, 50_000n, 1000],
    [0n, 0n, 1000],
  ])('is a percentage up to 1000: of the limit %d, with %d spent, it is %d', (limitNanoUsd, spentNanoUsd, percent) => {
    const path = [budget(1, { ...ofProject, limitNanoUsd, isSoft: true })];
    expect(projectShareOf(path, spent(path, spentNanoUsd))?.spentPercent).toBe(percent);
  });
});

describe('The alert of a budget', () => {
  const alerted = (of: PathBudget, spentNanoUsd: bigint) =>
    budgetChanges(spent([of], spentNanoUsd), 1).dueAlerts?.map(({ percent }) => percent);

  it('is due once at least its share is spent, down to a fraction of a nano-USD', () => {
    // Half of 5 is 2.5.
    const odd = budget(1, { limitNanoUsd: 5n, alertPercents: [50] });
    expect([alerted(odd, 2n), alerted(odd, 3n)]).toEqual([undefined, [50]]);
  });

  it('of a limit of zero is due with the first charge and not before', () => {
    const none = budget(1, { limitNanoUsd: 0n, isSoft: true, alertPercents: [50] });
    expect([alerted(none, 0n), alerted(none, 1n)]).toEqual([undefined, [50]]);
  });

  it.each([
    [true, undefined],
    [false, 1_000n],
  ])('leaves the budget as soft or hard as it was (soft: %s)', (isSoft, limitNanoUsd) => {
    const { budgets } = budgetChanges(spent([budget(1, { isSoft, alertPercents: [50] })], 500n), 1);
    expect(budgets).toMatchObject([{ limitNanoUsd }]);
  });
});

describe('The bucket of a budget', () => {
  it.each(['America/New_York', ''])(
    'takes the time zone %j of its account, although the budget has no new version, and keeps what is spent',
    (timeZone) => {
      const known = spent([budget(1)], 70n);
      const [bucket] = bucketsOfPath(accountId, [budget(1, { timeZone })], known);
      expect(budgetOfText(bucket!.budgetText).timeZone).toBe(timeZone);
      expect(bucket!.spentNanoUsd).toBe(70n);
    },
  );

  it('stays the same object while nothing changes', () => {
    const known = spent([budget(1)], 70n);
    expect(bucketsOfPath(accountId, [budget(1)], known)[0]).toBe(known[0]);
  });
});
