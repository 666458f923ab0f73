// Budgets of keys, projects and accounts: their validation, their form in a database column, and their form in audit events.
import { isDeepStrictEqual } from 'node:util';
import { fieldFault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import type { BudgetFallback } from '#proto/auth/v1/auth.js';
import { formatUsd } from '#rules/money/money.js';
import { int64Max, modelIdForm } from './fields.js';

/** How many budgets a key, a project or an account may have. The lifetime limit of a key is one of them. */
const budgetsMax = 2;
const percentMax = 1000;
const percentsMax = 10;

const periodWords = {
  [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: 'lifetime',
  [BudgetPeriod.BUDGET_PERIOD_MONTH]: 'month',
  [BudgetPeriod.BUDGET_PERIOD_WEEK]: 'week',
  [BudgetPeriod.BUDGET_PERIOD_DAY]: 'day',
} as const;
type Period = keyof typeof periodWords;
const isPeriod = (period: BudgetPeriod): period is Period => period in periodWords;

/** A budget in a request. */
export type BudgetSetting = Pick<Budget, 'period' | 'limitNanoUsd' | 'soft' | 'alertPercents'>;

/** Returns the settings in order of their periods, with their percents ascending and each once. Raises invalid_request. */
export function checkedBudgets(budgets: readonly Budget[]): BudgetSetting[] {
  if (budgets.length > budgetsMax) throw fieldFault('budgets', 'max_items', { max: budgetsMax });
  const periods = budgets.map(({ period }) => period);
  if (!periods.every(isPeriod) || new Set(periods).size < periods.length) throw fieldFault('budgets.period', 'distinct_periods');
  return budgets
    .map(({ period, limitNanoUsd, soft, alertPercents }) => {
      if (limitNanoUsd <= 0n || limitNanoUsd > int64Max) throw fieldFault('budgets.limit_nano_usd', 'positive');
      const percents = [...new Set(alertPercents)].toSorted((a, b) => a - b);
      if (percents.length > percentsMax) throw fieldFault('budgets.alert_percents', 'max_items', { max: percentsMax });
      if (percents.some((percent) => percent < 1 || percent > percentMax))
        throw fieldFault('budgets.alert_percents', 'range', { min: 1, max: percentMax });
      if (soft && percents.length === 0) throw fieldFault('budgets.alert_percents', 'some_percents');
      return { period, limitNanoUsd, soft, alertPercents: percents };
    })
    .toSorted((a, b) => a.period - b.period);
}

/** Does the same for the budgets of a key, whose lifetime budget is its lifetime limit. */
export function checkedKeyBudgets(budgets: readonly Budget[]): BudgetSetting[] {
  if (budgets.some(({ period }) => period === BudgetPeriod.BUDGET_PERIOD_LIFETIME)) throw fieldFault('budgets.period', 'lifetime_of_key');
  return checkedBudgets(budgets);
}

/** Returns the cheaper model of a project. Raises invalid_request. */
export function checkedBudgetFallback(fallback: BudgetFallback | undefined): BudgetFallback | undefined {
  if (fallback === undefined) return undefined;
  const { modelId, fromPercent } = fallback;
  if (!modelIdForm.test(modelId)) throw fieldFault('budget_fallback.model_id', 'model_ids');
  if (fromPercent < 1 || fromPercent > 100) throw fieldFault('budget_fallback.from_percent', 'range', { min: 1, max: 100 });
  return { modelId, fromPercent };
}

/** Raises invalid_request if a key has too many budgets together with its lifetime limit. */
export function assertKeyBudgets(key: { readonly lifetimeLimitNanoUsd?: bigint | undefined; readonly budgets: readonly object[] }): void {
  if (key.lifetimeLimitNanoUsd !== undefined && key.budgets.length >= budgetsMax)
    throw fieldFault('budgets', 'budgets_beside_limit', { max: budgetsMax });
}

/** Returns the budgets of one owner after a change: a budget of the same period keeps its id. */
export function changedBudgets(
  before: readonly Budget[],
  wanted: readonly BudgetSetting[],
  owner: Pick<Budget, 'scope' | 'scopeId'>,
  nowMs: number,
): Budget[] {
  return wanted.map(({ period, limitNanoUsd, soft, alertPercents }) => {
    const { scope, scopeId } = owner;
    const present = before.find((each) => each.period === period);
    const { id = newId('bud', nowMs), version = 0n } = present ?? {};
    const changed = { id, scope, scopeId, period, limitNanoUsd, soft, alertPercents, version: version + 1n };
    return present !== undefined && isDeepStrictEqual(present, { ...changed, version }) ? present : changed;
  });
}

/** Returns budgets as the words of the CLI and the console, for audit events. */
export function budgetWords(budgets: readonly BudgetSetting[]): object {
  return Object.fromEntries(
    budgets.map(({ period, limitNanoUsd, soft, alertPercents }) => [
      periodWords[period as Period],
      { limit_usd: formatUsd(limitNanoUsd), ...(soft ? { soft } : {}), alert_percents: alertPercents },
    ]),
  );
}

interface Column {
  readonly id: string;
  readonly period: number;
  readonly limit: string;
  readonly soft: boolean;
  readonly alerts: number[];
  readonly version: string;
}

/** Returns budgets as the text in the column of their owner. */
export const budgetsColumn = (budgets: readonly Budget[]): string =>
  JSON.stringify(
    budgets.map(({ id, period, limitNanoUsd, soft, alertPercents, version }): Column => {
      return { id, period, limit: String(limitNanoUsd), soft, alerts: alertPercents, version: String(version) };
    }),
  );

/** Returns the budgets in the column of their owner. */
export function budgetsIn(text: string, scope: BudgetScope, scopeId: string): Budget[] {
  return (JSON.parse(text) as Column[]).map(({ id, period, limit, soft, alerts, version }) => ({
    id,
    scope,
    scopeId,
    period,
    limitNanoUsd: BigInt(limit),
    soft,
    alertPercents: alerts,
    version: BigInt(version),
  }));
}
