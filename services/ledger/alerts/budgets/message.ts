// The texts of alerts of budgets, for programs and for users. Pure.
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { formatUsd } from '#rules/money.js';
import { webhookBody } from '#rules/webhook-events.js';
import { dateText, isoIn, periodBounds } from '../../budgets/calendar.js';
import type { PeriodBudget } from '../../books/model.js';
import { periodNames, scopeNames } from '../../budgets/names.js';

/** A budget whose spend has reached a share of its limit. */
export interface BudgetEvent {
  readonly id: string;
  readonly accountId: string;
  readonly budget: PeriodBudget;
  readonly percent: number;
  /** At the charge that reached the share. */
  readonly spentNanoUsd: bigint;
  readonly atMs: number;
}

/** Returns the event as JSON. */
export function budgetEventJson({ id, accountId, budget, percent, spentNanoUsd, atMs }: BudgetEvent): string {
  const { budgetId, scope, ownerId, period, start, limitNanoUsd, isSoft } = budget;
  const data = {
    budget_id: budgetId,
    scope: scopeNames[scope]!.name,
    scope_id: ownerId,
    period: periodNames[period]!,
    period_start: start === 0 ? null : dateText(start),
    resets_at: resetsAt(budget) ?? null,
    soft: isSoft,
    percent,
    limit_usd: formatUsd(limitNanoUsd),
    spent_usd: formatUsd(spentNanoUsd),
  };
  return webhookBody({ id, type: 'budget.reached', accountId, atMs, data });
}

const adjectives: Readonly<Partial<Record<BudgetPeriod, string>>> = {
  [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: 'lifetime',
  [BudgetPeriod.BUDGET_PERIOD_MONTH]: 'monthly',
  [BudgetPeriod.BUDGET_PERIOD_WEEK]: 'weekly',
  [BudgetPeriod.BUDGET_PERIOD_DAY]: 'daily',
};

/** Returns the subject and text of a mail. Without a public address there is no link, only directions to the page. */
export function budgetMailText(event: BudgetEvent, publicUrl: string | undefined): { subject: string; text: string } {
  const { id, accountId, budget, percent, spentNanoUsd, atMs } = event;
  const { budgetId, scope, ownerId, period, limitNanoUsd, isSoft } = budget;
  const owner = scope === BudgetScope.BUDGET_SCOPE_ACCOUNT ? 'account' : `${scopeNames[scope]!.name} ${ownerId}`;
  const ofAccount = scope === BudgetScope.BUDGET_SCOPE_ACCOUNT ? accountId : `account ${accountId}`;
  const spent = `$${formatUsd(spentNanoUsd)} of $${formatUsd(limitNanoUsd)}`;
  const resets = resetsAt(budget);
  const place = publicUrl === undefined ? 'the console, under Billing' : `${publicUrl}/console/accounts/${accountId}/billing`;
  const effect = isSoft ? 'It is a soft budget: no calls are refused.' : 'Calls that the rest of the budget does not cover are refused.';
  const lines = [
    `The ${adjectives[period]!} budget of ${owner}${scope === BudgetScope.BUDGET_SCOPE_ACCOUNT ? ' ' : ' of '}${ofAccount} has reached ${percent}%: ${spent} is spent.`,
    effect,
    ...(resets === undefined ? [] : [`It resets at ${resets}.`]),
    '',
    'You are notified once per threshold and period.',
    '',
    `To change who is notified: ${place}`,
    `${budgetId}, ${id}, ${new Date(atMs).toISOString()}`,
    '',
  ];
  return { subject: `${percent}% of a ${adjectives[period]!} budget spent: ${spent}`, text: lines.join('\n') };
}

function resetsAt({ period, timeZone, start }: PeriodBudget): string | undefined {
  const bounds = periodBounds(period, timeZone, start);
  return bounds === undefined ? undefined : isoIn(timeZone, bounds.untilMs);
}
