// Projects of an account.
import { type Static, Type } from 'typebox';
import { Budgets, BudgetsBody } from './budgets.js';
import { Models } from './keys.js';
import { RateLimits, RateLimitsBody } from './rate-limits.js';
import { listOf, Name, nullable, optional, Text, Time, view } from './shapes.js';

const BudgetFallback = Type.Object(
  { model: Text, from_percent: Type.Integer({ minimum: 1, maximum: 100 }) },
  { description: 'The model that calls use instead of a more expensive one once this share of a budget of the project is spent.' },
);

const PromptLogDays = Type.Integer({ minimum: 1, maximum: 30 });

export const Project = view('Project', {
  id: Text,
  name: Text,
  is_default: Type.Boolean({ description: 'Keys are created in this project unless another is named.' }),
  models: nullable(Type.Array(Text), 'A call needs the permission of both its key and its project. Null: all current and future models.'),
  rate_limits: RateLimits,
  budgets: Budgets,
  budget_fallback: nullable(BudgetFallback),
  prompt_log_days: nullable(PromptLogDays, 'For how many days the prompts and answers of calls are kept. Null: they are not kept.'),
  keys: Type.Integer({ minimum: 0, description: 'Keys that are not revoked.' }),
  created_at: Time,
  deleted_at: nullable(Time, 'A deleted project is kept because of its usage.'),
});
export type Project = Static<typeof Project>;
export const ProjectList = listOf(Project);

const settings = {
  models: optional(Models),
  budget_fallback: optional(BudgetFallback),
  rate_limits: optional(RateLimitsBody),
  budgets: optional(BudgetsBody),
};
export const CreateProject = Type.Object({ name: Name, ...settings });
export type CreateProject = Static<typeof CreateProject>;

/** Absent fields are unchanged; null removes the restriction to models, the limits, the budgets or the log of prompts. Limits and budgets are replaced together. */
export const UpdateProject = Type.Object({ name: Type.Optional(Name), ...settings, prompt_log_days: optional(PromptLogDays) });
export type UpdateProject = Static<typeof UpdateProject>;

export const Privacy = view('Privacy', {
  never_log_prompts: Type.Boolean({ description: "Prompts and answers are not logged, whatever the settings of the account's projects." }),
  prompt_logging: Type.Boolean({ description: 'Whether the installation lets projects log prompts and answers.' }),
});
export type Privacy = Static<typeof Privacy>;
export const UpdatePrivacy = Type.Object({ never_log_prompts: Type.Boolean() });
