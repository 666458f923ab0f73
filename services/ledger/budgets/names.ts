// The scopes and periods of budgets as errors and messages name them. Pure.
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';

/** Names of scopes in errors and messages, and the prefix of their ids. */
export const scopeNames: Readonly<
  Partial<Record<BudgetScope, { readonly name: 'account' | 'project' | 'key'; readonly prefix: 'acct' | 'proj' | 'key' }>>
> = {
  [BudgetScope.BUDGET_SCOPE_ACCOUNT]: { name: 'account', prefix: 'acct' },
  [BudgetScope.BUDGET_SCOPE_PROJECT]: { name: 'project', prefix: 'proj' },
  [BudgetScope.BUDGET_SCOPE_KEY]: { name: 'key', prefix: 'key' },
};

/** Names of periods in errors and messages. */
export const periodNames: Readonly<Partial<Record<BudgetPeriod, 'lifetime' | 'month' | 'week' | 'day'>>> = {
  [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: 'lifetime',
  [BudgetPeriod.BUDGET_PERIOD_MONTH]: 'month',
  [BudgetPeriod.BUDGET_PERIOD_WEEK]: 'week',
  [BudgetPeriod.BUDGET_PERIOD_DAY]: 'day',
};
