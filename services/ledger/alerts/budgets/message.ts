// The texts of budget alerts, for programs and for users. Pure.
import { BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import type { MailLanguage } from '#rules/mail-language.js';
import { formatUsd } from '#rules/money/money.js';
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
  /** The spend after the charge that reached the share. */
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

const periodWords: Readonly<Record<MailLanguage, Readonly<Partial<Record<BudgetPeriod, string>>>>> = {
  en: {
    [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: 'lifetime',
    [BudgetPeriod.BUDGET_PERIOD_MONTH]: 'monthly',
    [BudgetPeriod.BUDGET_PERIOD_WEEK]: 'weekly',
    [BudgetPeriod.BUDGET_PERIOD_DAY]: 'daily',
  },
  'zh-CN': {
    [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: '终身',
    [BudgetPeriod.BUDGET_PERIOD_MONTH]: '每月',
    [BudgetPeriod.BUDGET_PERIOD_WEEK]: '每周',
    [BudgetPeriod.BUDGET_PERIOD_DAY]: '每日',
  },
};

/** Returns the subject and text of a mail. Without a public address there is no link, only directions to the page. */
export function budgetMailText(
  event: BudgetEvent,
  publicUrl: string | undefined,
  language: MailLanguage = 'en',
): { subject: string; text: string } {
  const { id, accountId, budget, percent, spentNanoUsd, atMs } = event;
  const { budgetId, scope, ownerId, period, limitNanoUsd, isSoft } = budget;
  const isOfAccount = scope === BudgetScope.BUDGET_SCOPE_ACCOUNT;
  const [spent, limit] = [`$${formatUsd(spentNanoUsd)}`, `$${formatUsd(limitNanoUsd)}`];
  const resets = resetsAt(budget);
  const page = publicUrl === undefined ? undefined : `${publicUrl}/console/accounts/${accountId}/billing`;
  const word = periodWords[language][period]!;
  const letters = {
    en: () => {
      const owner = isOfAccount ? `account ${accountId}` : `${scopeNames[scope]!.name} ${ownerId} of account ${accountId}`;
      return {
        subject: `${percent}% of a ${word} budget spent: ${spent} of ${limit}`,
        lines: [
          `The ${word} budget of ${owner} has reached ${percent}%: ${spent} of ${limit} is spent.`,
          isSoft ? 'It is a soft budget: no calls are refused.' : 'Calls that the rest of the budget does not cover are refused.',
          ...(resets === undefined ? [] : [`It resets at ${resets}.`]),
          '',
          'You are notified once per threshold and period.',
          '',
          `To change who is notified: ${page ?? 'the console, under Balance and billing'}`,
        ],
      };
    },
    'zh-CN': () => {
      const owner = isOfAccount
        ? `账户 ${accountId} `
        : `账户 ${accountId} 的${scope === BudgetScope.BUDGET_SCOPE_KEY ? '密钥' : '项目'} ${ownerId} `;
      return {
        subject: `${word}预算已用 ${percent}%：${spent}，共 ${limit}`,
        lines: [
          `${owner}的${word}预算已达到 ${percent}%：已用 ${spent}，共 ${limit}。`,
          isSoft ? '这是软预算，不会拒绝调用。' : '超出剩余预算的调用会被拒绝。',
          ...(resets === undefined ? [] : [`预算将于 ${resets} 重置。`]),
          '',
          '每个阈值在每个周期只提醒一次。',
          '',
          `更改收件人：${page ?? '控制台的“余额与账单”页面'}`,
        ],
      };
    },
  };
  const { subject, lines } = letters[language]();
  return { subject, text: [...lines, `${budgetId}, ${id}, ${new Date(atMs).toISOString()}`, ''].join('\n') };
}

function resetsAt({ period, timeZone, start }: PeriodBudget): string | undefined {
  const bounds = periodBounds(period, timeZone, start);
  return bounds === undefined ? undefined : isoIn(timeZone, bounds.untilMs);
}
