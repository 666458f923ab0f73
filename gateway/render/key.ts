// Renders a key and its money as JSON. Amounts are USD as decimal strings.
import type { Static } from 'typebox';
import { enumWord } from '#kit/enum-word.js';
import { AccountState, type Key, type Project, type RateLimits } from '#proto/auth/v1/auth.js';
import { type Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import type { Balance, BudgetSpend, KeySpend } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money/money.js';
import { keyStateWord } from '#rules/keys/key-state.js';
import type { KeyView } from '../formats/account-schema.js';

/** Returns the body of GET /v1/key, which is refused to keys of suspended accounts. */
export function renderKey(
  { key, project, budgets }: { key: Key; project: Project; budgets: readonly Budget[] },
  { balance, key: spend, budgets: budgetSpend }: { balance: Balance; key: KeySpend | undefined; budgets: readonly BudgetSpend[] },
  nowMs: number,
): Static<typeof KeyView> {
  const spent = spend?.spentNanoUsd ?? 0n;
  const held = spend?.heldNanoUsd ?? 0n;
  const limit = key.lifetimeLimitNanoUsd;
  const remaining = limit === undefined ? undefined : limit - spent - held;
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    last_four: key.lastFour,
    account_id: key.accountId,
    project: {
      id: project.id,
      name: project.name,
      models: modelsOf(project),
      rate_limits: rateLimitsOf(project.rateLimits),
    },
    state: keyStateWord({ key, spend, accountState: AccountState.ACCOUNT_STATE_ACTIVE, nowMs }),
    models: modelsOf(key),
    expires_at: key.expiresAtMs === undefined ? null : new Date(Number(key.expiresAtMs)).toISOString(),
    limit_usd: limit === undefined ? null : formatUsd(limit),
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    remaining_usd: remaining === undefined ? null : formatUsd(remaining < 0n ? 0n : remaining),
    rate_limits: rateLimitsOf(key.rateLimits),
    budgets: budgets.map((budget) => renderBudget(budget, budgetSpend)),
    balance: {
      credited_usd: formatUsd(balance.creditedNanoUsd),
      spent_usd: formatUsd(balance.spentNanoUsd),
      held_usd: formatUsd(balance.heldNanoUsd),
      available_usd: formatUsd(balance.availableNanoUsd),
    },
  };
}

function modelsOf({ models }: Pick<Key, 'models'>): string[] | null {
  return models === undefined || models.allModels ? null : models.modelIds;
}

function rateLimitsOf(limits: RateLimits | undefined): Static<typeof KeyView>['rate_limits'] {
  return {
    requests_per_minute: limits?.requestsPerMinute ?? null,
    tokens_per_minute: limits?.tokensPerMinute ?? null,
    concurrent_calls: limits?.concurrentCalls ?? null,
  };
}

function renderBudget(budget: Budget, spend: readonly BudgetSpend[]): Static<typeof KeyView>['budgets'][number] {
  const used = spend.find(({ budgetId }) => budgetId === budget.id)!;
  return {
    scope: enumWord(BudgetScope[budget.scope], 'BUDGET_SCOPE_'),
    period: enumWord(BudgetPeriod[budget.period], 'BUDGET_PERIOD_'),
    limit_usd: formatUsd(budget.limitNanoUsd),
    soft: budget.soft,
    spent_usd: formatUsd(used.spentNanoUsd),
    held_usd: formatUsd(used.heldNanoUsd),
    left_usd: formatUsd(used.leftNanoUsd),
    resets_at: used.untilMs === 0n ? null : new Date(Number(used.untilMs)).toISOString(),
  };
}
