// The details of a project in audit events.
import type { Project } from '#proto/auth/v1/auth.js';
import { budgetWords } from './budgets.js';
import { rateLimitWords } from './rate-limits.js';

/** Returns the settings of a project in the words of the CLI and the console. */
export function projectDetail({ name, models, rateLimits, budgets, budgetFallback, promptLogDays }: Project): object {
  return {
    name,
    models: models?.allModels === true ? 'all' : models?.modelIds,
    rate_limits: rateLimitWords(rateLimits),
    budgets: budgetWords(budgets),
    budget_fallback: budgetFallback === undefined ? null : `${budgetFallback.modelId}:${budgetFallback.fromPercent}`,
    prompt_log_days: promptLogDays,
  };
}
