// Budgets of accounts, projects and keys.
import { type Static, Type } from 'typebox';
import { Flag, nullable, optional, Text, textOf, Time, Usd, UsdBody, view } from './shapes.js';
import { budgetPeriods } from './words.js';

const budgetsMax = 2;
const percentsMax = 10;
const Percent = Type.Integer({ minimum: 1, maximum: 1000 });

export const Budget = view('Budget', {
  id: Text,
  period: Type.Enum(budgetPeriods, { description: 'Months, weeks (from Monday) and days begin in the time zone of the account.' }),
  limit_usd: Usd,
  soft: Type.Boolean({ description: 'Whether calls are admitted even when the budget is spent, so that only alerts are sent.' }),
  alert_at: Type.Array(Percent, { description: 'The percentages of the limit at which an alert is sent, once per period.' }),
  spent_usd: nullable(Usd, 'The amount spent in the current period. Null while the ledger is unavailable.'),
  held_usd: nullable(Usd, 'The amount held for calls in flight. Null while the ledger is unavailable.'),
  left_usd: nullable(Usd),
  starts_at: nullable(Time, 'When the current period began; null for a lifetime budget.'),
  resets_at: nullable(Time, 'When the next period begins; null for a lifetime budget.'),
});
export type Budget = Static<typeof Budget>;
export type BudgetPeriod = Budget['period'];
export const Budgets = Type.Array(Budget);

/** All budgets of one owner, at most two, each period once. A budget of the same period keeps what is spent of it. */
export const BudgetsBody = Type.Array(
  Type.Object({
    period: Type.Enum(budgetPeriods),
    limit_usd: UsdBody,
    soft: Type.Optional(Flag),
    alert_at: Type.Optional(Type.Array(Percent, { maxItems: percentsMax })),
  }),
  { maxItems: budgetsMax },
);
export type BudgetsBody = Static<typeof BudgetsBody>;

export const AccountBudgets = view('AccountBudgets', { budgets: Budgets, time_zone: Text });
export type AccountBudgets = Static<typeof AccountBudgets>;

/** Absent fields are unchanged. */
export const UpdateAccountBudgets = Type.Object({ budgets: optional(BudgetsBody), time_zone: Type.Optional(textOf(1, 64)) });
export type UpdateAccountBudgets = Static<typeof UpdateAccountBudgets>;
