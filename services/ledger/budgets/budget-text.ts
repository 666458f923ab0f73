// A budget as the text that its bucket stores. Only a new version, an alert and Verify read it. Pure.
import type { PeriodBudget } from '../books/model.js';

/** A budget and the alerts of its period. */
export interface StoredBudget extends PeriodBudget {
  /** The highest share at which an alert was due in this period; 0 for none. */
  readonly alertedPercent: number;
}

export function textOfBudget(budget: StoredBudget): string {
  const { budgetId, scope, ownerId, period, start, timeZone, limitNanoUsd, isSoft, alertPercents, alertedPercent } = budget;
  return JSON.stringify([
    budgetId,
    scope,
    ownerId,
    period,
    start,
    timeZone,
    String(limitNanoUsd),
    isSoft ? 1 : 0,
    alertPercents,
    alertedPercent,
  ]);
}

export function budgetOfText(text: string): StoredBudget {
  const [budgetId, scope, ownerId, period, start, timeZone, limit, soft, alertPercents, alertedPercent] = JSON.parse(text) as [
    string,
    number,
    string,
    number,
    number,
    string,
    string,
    number,
    number[],
    number,
  ];
  return {
    budgetId,
    scope,
    ownerId,
    period,
    start,
    timeZone,
    limitNanoUsd: BigInt(limit),
    isSoft: soft === 1,
    alertPercents,
    alertedPercent,
  };
}

/** Reports whether a budget is in this zone, without parsing it: every hold compares the zones. No other part of the text is the name of a zone. */
export function hasZone(text: string, timeZone: string): boolean {
  return text.includes(`,${JSON.stringify(timeZone)},`);
}
