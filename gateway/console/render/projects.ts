// Projects as JSON. Pure.
import type { Project as Message } from '#proto/auth/v1/auth.js';
import type { BudgetSpend } from '#proto/ledger/v1/ledger.js';
import type { Project } from '../schemas/projects.js';
import { renderBudgets } from './budgets.js';
import { renderRateLimits } from './rate-limits.js';
import { instant, maybe } from './values.js';

/** Renders a project with what is spent of its budgets and the number of its keys. */
export function renderProject(project: Message, spend: readonly BudgetSpend[] | undefined, keys: number): Project {
  return {
    id: project.id,
    name: project.name,
    is_default: project.isDefault,
    models: project.models === undefined || project.models.allModels ? null : project.models.modelIds,
    rate_limits: renderRateLimits(project.rateLimits),
    budgets: renderBudgets(project.budgets, spend),
    budget_fallback: maybe(project.budgetFallback, ({ modelId, fromPercent }) => ({ model: modelId, from_percent: fromPercent })),
    prompt_log_days: project.promptLogDays === 0 ? null : project.promptLogDays,
    keys,
    created_at: instant(project.createdAtMs),
    deleted_at: maybe(project.deletedAtMs, instant),
  };
}
