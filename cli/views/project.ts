// The output of projects.
import type { Project } from '#proto/auth/v1/auth.js';
import { budgetsJson, budgetsText, type SpendOfBudgets } from '../options/budgets.js';
import { instant, instantJson, type View } from '../output.js';
import { rateLimitsJson, rateLimitsText } from '../options/rate-limits.js';

/** A project with the number of its keys that are not revoked, and what is spent of its budgets. */
export interface ShownProject {
  readonly project: Project;
  /** Undefined where it was not counted. */
  readonly keys: number | undefined;
  readonly spend: SpendOfBudgets;
}

const models = ({ project }: ShownProject): string =>
  project.models?.allModels === true ? 'all' : (project.models?.modelIds ?? []).join(',');
const fallback = ({ project: { budgetFallback } }: ShownProject): string =>
  budgetFallback === undefined ? '' : `${budgetFallback.modelId} from ${budgetFallback.fromPercent} %`;
const state = ({ project }: ShownProject): string => (project.deletedAtMs === undefined ? 'active' : 'deleted');
const keys = (shown: ShownProject): string => (shown.keys === undefined ? '' : String(shown.keys));

/** A project. */
export const projectView: View<ShownProject> = {
  json: (shown) => ({
    id: shown.project.id,
    account_id: shown.project.accountId,
    name: shown.project.name,
    state: state(shown),
    is_default: shown.project.isDefault,
    models: shown.project.models?.allModels === true ? 'all' : (shown.project.models?.modelIds ?? []),
    rate_limits: rateLimitsJson(shown.project.rateLimits),
    budgets: budgetsJson(shown.project.budgets, shown.spend),
    budget_fallback: shown.project.budgetFallback
      ? { model: shown.project.budgetFallback.modelId, from_percent: shown.project.budgetFallback.fromPercent }
      : null,
    prompt_log_days: shown.project.promptLogDays || null,
    ...(shown.keys === undefined ? {} : { keys: shown.keys }),
    created_at: instantJson(shown.project.createdAtMs),
    deleted_at: instantJson(shown.project.deletedAtMs),
  }),
  columns: [
    { title: 'project', text: ({ project }) => project.id },
    { title: 'name', text: ({ project }) => project.name },
    { title: 'state', text: state },
    { title: 'keys', text: keys, align: 'right' },
    { title: 'budgets', text: ({ project, spend }) => budgetsText(project.budgets, spend) },
    { title: 'rate limits', text: ({ project }) => rateLimitsText(project.rateLimits) },
    { title: 'models', text: models },
  ],
  details: [
    { title: 'project', text: ({ project }) => project.id },
    { title: 'account', text: ({ project }) => project.accountId },
    { title: 'name', text: ({ project }) => project.name },
    { title: 'state', text: state },
    { title: 'keys', text: keys },
    { title: 'budgets', text: ({ project, spend }) => budgetsText(project.budgets, spend) },
    { title: 'rate limits', text: ({ project }) => rateLimitsText(project.rateLimits) },
    { title: 'models', text: models },
    { title: 'budget fallback', text: fallback },
    { title: 'prompt log', text: ({ project: { promptLogDays: days } }) => (days === 0 ? '' : `${days} days`) },
    { title: 'created', text: ({ project }) => instant(project.createdAtMs) },
    { title: 'deleted', text: ({ project }) => instant(project.deletedAtMs) },
  ],
};
