// The budgets on a hold's path, from the request: which buckets they are at this instant. Raises invalid_request.
import { fieldFault } from '#client/errors/fault.js';
import { hash } from 'node:crypto';
import { isId } from '#kit/id.js';
import { type Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import type { PathBudget } from '../books/model.js';
import { checkedLimit, invalidField } from '../requests/fields.js';
import { noBudgets } from './buckets.js';
import { isTimeZone, periodStart } from './calendar.js';
import { scopeNames } from './names.js';

/** Two each of account, project and key; the lifetime limit of a key, which is none of them, counts as one of its two. */
const pathBudgetsMax = 6;
const percentsMax = 20;
const percentMax = 1000;

/** Maximum number of hashes that are cached; usually enough for all budgets that are in use in a period. */
const scopesMax = 10_000;
const scopes = new Map<string, string>();

/** The order in which budgets refuse: the narrowest first. */
const scopeOrder = [BudgetScope.BUDGET_SCOPE_KEY, BudgetScope.BUDGET_SCOPE_PROJECT, BudgetScope.BUDGET_SCOPE_ACCOUNT];
const periodOrder = [
  BudgetPeriod.BUDGET_PERIOD_LIFETIME,
  BudgetPeriod.BUDGET_PERIOD_MONTH,
  BudgetPeriod.BUDGET_PERIOD_WEEK,
  BudgetPeriod.BUDGET_PERIOD_DAY,
];

/** Returns the budgets with their buckets at this instant, in the order in which they refuse. */
export function pathOf(budgets: readonly Budget[], timeZone: string, nowMs: number): readonly PathBudget[] {
  if (budgets.length === 0) return noBudgets;
  if (budgets.length > pathBudgetsMax) throw invalidField('budgets', `at most ${pathBudgetsMax}`);
  const path = bucketsOf(budgets, timeZone, nowMs);
  return path.length === 1 ? path : path.sort(inOrder);
}

/** Returns the budgets with their buckets at this instant, in the order of the request. */
export function bucketsOf(budgets: readonly Budget[], timeZone: string, nowMs: number): PathBudget[] {
  if (!isTimeZone(timeZone)) throw invalidField('time_zone', 'an IANA time zone, such as "Asia/Shanghai"');
  const ids = new Set<string>();
  return budgets.map((budget, index) => {
    const path = `budgets[${index}]`;
    if (ids.has(budget.id)) throw invalidField(`${path}.id`, 'different from those before it');
    ids.add(budget.id);
    return checkedBudget(path, budget, timeZone, nowMs);
  });
}

function checkedBudget(path: string, budget: Budget, timeZone: string, nowMs: number): PathBudget {
  const { id, scope, scopeId: ownerId, period, limitNanoUsd, soft, alertPercents, version } = budget;
  if (!isId('bud', id)) throw fieldFault(`${path}.id`, 'id', { prefix: 'bud' });
  if (!scopeOrder.includes(scope)) throw invalidField(`${path}.scope`, 'one of account, project and key');
  if (!isId(scopeNames[scope]!.prefix, ownerId)) throw fieldFault(`${path}.scope_id`, 'id', { prefix: scopeNames[scope]!.prefix });
  if (!periodOrder.includes(period)) throw invalidField(`${path}.period`, 'one of lifetime, month, week and day');
  checkedLimit(`${path}.limit_nano_usd`, limitNanoUsd);
  if (version < 0n) throw fieldFault(`${path}.version`, 'at_least', { min: 0 });
  const isAscending = alertPercents.every((percent, at) => percent > (alertPercents[at - 1] ?? 0) && percent <= percentMax);
  if (!isAscending || alertPercents.length > percentsMax)
    throw invalidField(`${path}.alert_percents`, `at most ${percentsMax} whole numbers from 1 to ${percentMax}, ascending`);
  const start = periodStart(period, timeZone, nowMs);
  return {
    scopeId: scopeIdOf(id, period, start),
    budgetId: id,
    scope,
    ownerId,
    period,
    start,
    timeZone,
    limitNanoUsd,
    isSoft: soft,
    alertPercents,
    version,
  };
}

/** Returns the scope of the bucket of a budget in a period, as 32 hexadecimal digits. */
function scopeIdOf(budgetId: string, period: BudgetPeriod, start: number): string {
  const name = `${budgetId} ${period} ${start}`;
  let scopeId = scopes.get(name);
  if (scopeId === undefined) {
    if (scopes.size >= scopesMax) scopes.clear();
    scopeId = hash('sha256', name, 'hex').slice(0, 32);
    scopes.set(name, scopeId);
  }
  return scopeId;
}

function inOrder(a: PathBudget, b: PathBudget): number {
  return (
    scopeOrder.indexOf(a.scope) - scopeOrder.indexOf(b.scope) ||
    periodOrder.indexOf(a.period) - periodOrder.indexOf(b.period) ||
    (a.budgetId < b.budgetId ? -1 : 1)
  );
}
