// Budgets between the console's JSON and messages. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { Budget as Message } from '#proto/budget/v1/budget.js';
import type { BudgetSpend } from '#proto/ledger/v1/ledger.js';
import { formatUsd, limitNanoUsdMax } from '#rules/money/money.js';
import type { Budget, BudgetsBody } from '../schemas/budgets.js';
import { instant, maybe, nanoUsdOf } from './values.js';
import { words } from './words.js';

/** Renders budgets with what is spent of them; without it while the ledger is unavailable. */
export function renderBudgets(budgets: readonly Message[], spend: readonly BudgetSpend[] | undefined): Budget[] {
  return budgets.map(({ id, period, limitNanoUsd, soft, alertPercents }) => {
    const used = spend?.find(({ budgetId }) => budgetId === id);
    const time = (ms: bigint | undefined): string | null => maybe(ms === 0n ? undefined : ms, instant);
    return {
      id,
      period: words.budgetPeriod.of(period),
      limit_usd: formatUsd(limitNanoUsd),
      soft,
      alert_at: alertPercents,
      spent_usd: maybe(used?.spentNanoUsd, formatUsd),
      held_usd: maybe(used?.heldNanoUsd, formatUsd),
      left_usd: maybe(used?.leftNanoUsd, formatUsd),
      starts_at: time(used?.fromMs),
      resets_at: time(used?.untilMs),
    };
  });
}

/** Returns the budgets in a body. Raises invalid_request with the name of the field in the body. */
export function budgetsOf(body: BudgetsBody): Message[] {
  return body.map(({ period, limit_usd: limit, soft = false, alert_at: alertPercents = [] }, index) => {
    const limitNanoUsd = nanoUsdOf(`budgets.${index}.limit_usd`, limit, limitNanoUsdMax);
    if (limitNanoUsd <= 0n) throw fieldFault(`budgets.${index}.limit_usd`, 'positive');
    if (soft && alertPercents.length === 0) throw fieldFault(`budgets.${index}.alert_at`, 'some_percents');
    return Message.fromPartial({ period: words.budgetPeriod.value(period), limitNanoUsd, soft, alertPercents });
  });
}
