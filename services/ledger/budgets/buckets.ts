// What happens to the buckets of budgets: a newer version, a charge, an alert that becomes due. Pure.
import { BudgetScope } from '#proto/budget/v1/budget.js';
import { creditedNanoUsdMax } from '../books/buckets.js';
import type { BudgetBucket, BudgetShare, Changes, DueAlert, HoldRecord, PathBudget } from '../books/model.js';
import { budgetOfText, hasZone, type StoredBudget, textOfBudget } from './budget-text.js';

/** The highest share that is reported, in percent: a soft budget may be spent to a multiple of its limit. */
const percentMax = 1000;

/** The budgets on a path that has none. */
export const noBudgets: readonly never[] = [];

/** Returns the buckets of a path, each with the newest version of its budget and in the zone of the path. Those that did not change are the same objects. */
export function bucketsOfPath(accountId: string, path: readonly PathBudget[], known: readonly BudgetBucket[]): readonly BudgetBucket[] {
  if (path.length === 0) return noBudgets;
  return path.map((budget) =>
    withNewerBudget(
      accountId,
      known.find(({ scopeId }) => scopeId === budget.scopeId),
      budget,
    ),
  );
}

/** Returns the buckets on the path of a hold. */
export function bucketsOfHold(hold: HoldRecord, known: readonly BudgetBucket[]): readonly BudgetBucket[] {
  return hold.budgets.length === 0 ? noBudgets : known.filter(({ scopeId }) => hold.budgets.includes(scopeId));
}

/** Returns the bucket after its held and spent amounts have changed by these. */
export function moved(bucket: BudgetBucket, by: { readonly heldNanoUsd?: bigint; readonly spentNanoUsd?: bigint }): BudgetBucket {
  const { heldNanoUsd = 0n, spentNanoUsd = 0n } = by;
  return { ...bucket, heldNanoUsd: bucket.heldNanoUsd + heldNanoUsd, spentNanoUsd: bucket.spentNanoUsd + spentNanoUsd };
}

/**
 * Returns changed buckets as changes, with the alerts that their spend makes due. Each share of a limit is alerted once per period: of several that
 * are reached at once only the highest, and none again after a refund or a higher limit.
 */
export function budgetChanges(buckets: readonly BudgetBucket[], atMs: number): Pick<Changes, 'budgets' | 'dueAlerts'> {
  if (buckets.length === 0) return {};
  if (!buckets.some(isAlertDue)) return { budgets: buckets };
  const dueAlerts: DueAlert[] = [];
  const budgets = buckets.map((bucket) => {
    if (!isAlertDue(bucket)) return bucket;
    const budget = budgetOfText(bucket.budgetText);
    const percent = budget.alertPercents.findLast((each) => bucket.spentNanoUsd >= alertAt(budget.limitNanoUsd, each))!;
    dueAlerts.push({ accountId: bucket.accountId, scopeId: bucket.scopeId, percent, spentNanoUsd: bucket.spentNanoUsd, atMs });
    return withBudget(bucket, { ...budget, alertedPercent: percent });
  });
  return { budgets, dueAlerts };
}

/** Returns the budget of the project that is spent to the largest share; undefined without one. `buckets` are those of the path. */
export function projectShareOf(path: readonly PathBudget[], buckets: readonly BudgetBucket[]): BudgetShare | undefined {
  let largest: BudgetShare | undefined;
  for (const [index, budget] of path.entries()) {
    if (budget.scope !== BudgetScope.BUDGET_SCOPE_PROJECT) continue;
    const spentPercent = percentOf(buckets[index]!.spentNanoUsd, budget.limitNanoUsd);
    if (largest === undefined || spentPercent > largest.spentPercent) largest = { budget, spentPercent };
  }
  return largest;
}

function percentOf(spentNanoUsd: bigint, limitNanoUsd: bigint): number {
  if (limitNanoUsd === 0n) return percentMax;
  return Math.min(Number((spentNanoUsd * 100n) / limitNanoUsd), percentMax);
}

/** Returns the least spend that is at least this share of the limit, but never zero. */
function alertAt(limitNanoUsd: bigint, percent: number): bigint {
  const atNanoUsd = (limitNanoUsd * BigInt(percent) + 99n) / 100n;
  return atNanoUsd === 0n ? 1n : atNanoUsd;
}

function isAlertDue({ alertAtNanoUsd, spentNanoUsd }: BudgetBucket): boolean {
  return alertAtNanoUsd !== undefined && spentNanoUsd >= alertAtNanoUsd;
}

function withNewerBudget(accountId: string, known: BudgetBucket | undefined, budget: PathBudget): BudgetBucket {
  if (known !== undefined && budget.version <= known.limitVersion) return inZone(known, budget.timeZone);
  const { scopeId, version } = budget;
  const bucket: BudgetBucket = known ?? {
    accountId,
    scopeId,
    spentNanoUsd: 0n,
    heldNanoUsd: 0n,
    limitNanoUsd: undefined,
    limitVersion: version,
    budgetText: '',
    alertAtNanoUsd: undefined,
    archivedNanoUsd: 0n,
  };
  const alertedPercent = known === undefined ? 0 : budgetOfText(known.budgetText).alertedPercent;
  return withBudget({ ...bucket, limitVersion: version }, { ...budget, alertedPercent });
}

/** Returns the bucket with its budget in this zone: when an account changes its zone, its budgets have no new version. */
function inZone(bucket: BudgetBucket, timeZone: string): BudgetBucket {
  if (hasZone(bucket.budgetText, timeZone)) return bucket;
  return { ...bucket, budgetText: textOfBudget({ ...budgetOfText(bucket.budgetText), timeZone }) };
}

function withBudget(bucket: BudgetBucket, budget: StoredBudget): BudgetBucket {
  const next = budget.alertPercents.find((percent) => percent > budget.alertedPercent);
  const atNanoUsd = next === undefined ? undefined : alertAt(budget.limitNanoUsd, next);
  return {
    ...bucket,
    limitNanoUsd: budget.isSoft ? undefined : budget.limitNanoUsd,
    budgetText: textOfBudget(budget),
    // No account can spend more than its credits, and a column could not hold ten times the highest limit.
    alertAtNanoUsd: atNanoUsd !== undefined && atNanoUsd <= creditedNanoUsdMax ? atNanoUsd : undefined,
  };
}
