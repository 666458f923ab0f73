// Budgets in forms, and the requests built from them. Pure.
import { typedUsd } from './money.js';
import type { Budget, BudgetPeriod, BudgetsBody } from '../../../gateway/console/schemas/budgets.js';

/** How many budgets an account, a project or a key may have. */
export const budgetsMax = 2;
export const budgetPeriods = ['month', 'week', 'day', 'lifetime'] as const satisfies readonly BudgetPeriod[];
const alertsDefault = '50, 80, 100';
const percentsMax = 10;

/** A budget as typed by the user. */
export interface BudgetRow {
  /** Identifies the row while it is edited. */
  readonly row: number;
  readonly period: BudgetPeriod;
  readonly limit: string;
  readonly soft: boolean;
  /** Percentages, separated by commas or spaces. */
  readonly alerts: string;
}

/** What is wrong with a row. */
export interface BudgetFaults {
  readonly period?: 'twice';
  readonly limit?: 'form';
  readonly alerts?: 'form' | 'none';
}

/** Returns the rows for existing budgets. */
export const budgetRowsOf = (budgets: readonly Budget[]): BudgetRow[] =>
  budgets.map(({ period, limit_usd: limit, soft, alert_at: alerts }, row) => ({ row, period, limit, soft, alerts: alerts.join(', ') }));

/** Returns a new row with a period that the others do not have. */
export function newBudgetRow(rows: readonly BudgetRow[], periods: readonly BudgetPeriod[]): BudgetRow {
  const period = periods.find((each) => rows.every((row) => row.period !== each)) ?? periods[0]!;
  return { row: (rows.at(-1)?.row ?? -1) + 1, period, limit: '', soft: false, alerts: alertsDefault };
}

/** Returns the faults of each row. */
export function budgetFaults(rows: readonly BudgetRow[]): BudgetFaults[] {
  return rows.map((row, index) => {
    const limit = limitOf(row);
    const percents = percentsOf(row);
    return {
      ...(rows.findIndex(({ period }) => period === row.period) < index ? { period: 'twice' } : {}),
      ...(/^\d+(\.\d+)?$/.test(limit) && !/^[0.]+$/.test(limit) ? {} : { limit: 'form' }),
      ...(percents === undefined ? { alerts: 'form' } : row.soft && percents.length === 0 ? { alerts: 'none' } : {}),
    };
  });
}

/** Reports whether any row has a fault. */
export const hasBudgetFaults = (rows: readonly BudgetRow[]): boolean => budgetFaults(rows).some((faults) => Object.keys(faults).length > 0);

/** Returns the budgets of rows without faults. */
export const budgetsOf = (rows: readonly BudgetRow[]): BudgetsBody =>
  rows.map((row) => ({ period: row.period, limit_usd: limitOf(row), soft: row.soft, alert_at: percentsOf(row)! }));

/** Reports whether two forms mean the same budgets. */
export const sameBudgets = (a: readonly BudgetRow[], b: readonly BudgetRow[]): boolean => {
  const meant = (rows: readonly BudgetRow[]): string =>
    JSON.stringify(rows.map((row) => [row.period, limitOf(row), row.soft, percentsOf(row) ?? row.alerts]));
  return meant(a) === meant(b);
};

const limitOf = ({ limit }: BudgetRow): string => typedUsd(limit);

/** Returns undefined for a text that is not a list of whole percentages from 1 to 1,000. */
function percentsOf({ alerts }: BudgetRow): number[] | undefined {
  const parts = alerts.split(/[\s,;%，、]+/).filter((part) => part !== '');
  const percents = parts.map(Number);
  const areValid = parts.every((part) => /^\d{1,4}$/.test(part)) && percents.every((percent) => percent >= 1 && percent <= 1000);
  return areValid && percents.length <= percentsMax ? percents : undefined;
}
