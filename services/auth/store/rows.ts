// Conversions between rows of the database and messages of the contract.
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { Account, Key, ModelPermission, Project } from '#proto/auth/v1/auth.js';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import { budgetsColumn, budgetsIn } from '../requests/budgets.js';
import { defaultProjectId } from '#rules/default-project.js';
import { accountRateLimitsIn, rateLimitsColumn, rateLimitsIn } from '../requests/rate-limits.js';

/** A row as the driver returns it. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of an account that `toAccount` reads. */
export const accountColumns = [
  'id',
  'name',
  'state',
  'created_at_ms',
  'version',
  'state_reason',
  'rate_limits',
  'budgets',
  'time_zone',
  'never_log_prompts',
  'require_second_factor',
] as const;

/** Returns the account in a row. */
export function toAccount(row: Row): Account {
  const id = idFromBytes('acct', asBytes(row['id']));
  return {
    id,
    name: asText(row['name']),
    state: asNumber(row['state']),
    createdAtMs: asBigInt(row['created_at_ms']),
    version: asBigInt(row['version']),
    stateReason: asText(row['state_reason']),
    rateLimits: optional(row['rate_limits'], (value) => accountRateLimitsIn(asText(value))),
    budgets: budgetsIn(asText(row['budgets']), BudgetScope.BUDGET_SCOPE_ACCOUNT, id),
    timeZone: asText(row['time_zone']),
    neverLogPrompts: asNumber(row['never_log_prompts']) === 1,
    requireSecondFactor: asNumber(row['require_second_factor']) === 1,
  };
}

/** The columns of a project that `toProject` reads. */
export const projectColumns = [
  'id',
  'account_id',
  'name',
  'model_ids',
  'rate_limits',
  'budgets',
  'fallback_model',
  'fallback_percent',
  'prompt_log_days',
  'created_at_ms',
  'deleted_at_ms',
  'version',
] as const;

/** Returns the project in a row, whose columns may have a prefix. */
export function toProject(row: Row, prefix = ''): Project {
  const value = (column: (typeof projectColumns)[number]): unknown => row[`${prefix}${column}`];
  const id = idFromBytes('proj', asBytes(value('id')));
  const accountId = idFromBytes('acct', asBytes(value('account_id')));
  return {
    id,
    accountId,
    name: asText(value('name')),
    models: modelsIn(value('model_ids')),
    rateLimits: optional(value('rate_limits'), (text) => rateLimitsIn(asText(text))),
    budgets: budgetsIn(asText(value('budgets')), BudgetScope.BUDGET_SCOPE_PROJECT, id),
    budgetFallback: optional(value('fallback_model'), (modelId) => ({
      modelId: asText(modelId),
      fromPercent: asNumber(value('fallback_percent')),
    })),
    promptLogDays: asNumber(value('prompt_log_days')),
    createdAtMs: asBigInt(value('created_at_ms')),
    deletedAtMs: optional(value('deleted_at_ms'), asBigInt),
    version: asBigInt(value('version')),
    isDefault: id === defaultProjectId(accountId),
  };
}

/** Returns the columns of a project that can change. */
export function changeableProjectColumns(project: Project): Row {
  return {
    name: project.name,
    model_ids: modelsColumn(project.models),
    rate_limits: rateLimitsColumn(project.rateLimits),
    budgets: budgetsColumn(project.budgets),
    fallback_model: project.budgetFallback?.modelId ?? null,
    fallback_percent: project.budgetFallback?.fromPercent ?? null,
    prompt_log_days: project.promptLogDays,
    deleted_at_ms: project.deletedAtMs ?? null,
  };
}

function modelsIn(value: unknown): ModelPermission {
  const modelIds = optional(value, asText);
  return modelIds === undefined ? { allModels: true, modelIds: [] } : { allModels: false, modelIds: JSON.parse(modelIds) as string[] };
}

function modelsColumn(models: ModelPermission | undefined): string | null {
  return models === undefined || models.allModels ? null : JSON.stringify(models.modelIds);
}

/** The columns of a key that `toKey` reads. */
export const keyColumns = [
  'id',
  'account_id',
  'project_id',
  'name',
  'last_four',
  'model_ids',
  'lifetime_limit_nano_usd',
  'expires_at_ms',
  'state',
  'created_at_ms',
  'revoked_at_ms',
  'version',
  'secret_version',
  'previous_secrets_expire_at_ms',
  'rate_limits',
  'budgets',
  'allowed_addresses',
  'created_by',
] as const;

/** Returns the key in a row, without the hash of its secret. */
export function toKey(row: Row): Key {
  const id = idFromBytes('key', asBytes(row['id']));
  return {
    id,
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    projectId: idFromBytes('proj', asBytes(row['project_id'])),
    name: asText(row['name']),
    lastFour: asText(row['last_four']),
    models: modelsIn(row['model_ids']),
    lifetimeLimitNanoUsd: optional(row['lifetime_limit_nano_usd'], asBigInt),
    expiresAtMs: optional(row['expires_at_ms'], asBigInt),
    state: asNumber(row['state']),
    createdAtMs: asBigInt(row['created_at_ms']),
    revokedAtMs: optional(row['revoked_at_ms'], asBigInt),
    version: asBigInt(row['version']),
    secretVersion: asBigInt(row['secret_version']),
    previousSecretsExpireAtMs: optional(row['previous_secrets_expire_at_ms'], asBigInt),
    rateLimits: optional(row['rate_limits'], (value) => rateLimitsIn(asText(value))),
    budgets: budgetsIn(asText(row['budgets']), BudgetScope.BUDGET_SCOPE_KEY, id),
    createdByUserId: optional(row['created_by'], (value) => idFromBytes('user', asBytes(value))) ?? '',
    allowedAddresses: JSON.parse(asText(row['allowed_addresses'])) as string[],
  };
}

/** Returns the columns of a key that can change. */
export function changeableKeyColumns(key: Key): Row {
  return {
    name: key.name,
    project_id: idToBytes('proj', key.projectId),
    model_ids: modelsColumn(key.models),
    lifetime_limit_nano_usd: key.lifetimeLimitNanoUsd ?? null,
    expires_at_ms: key.expiresAtMs ?? null,
    state: key.state,
    revoked_at_ms: key.revokedAtMs ?? null,
    rate_limits: rateLimitsColumn(key.rateLimits),
    budgets: budgetsColumn(key.budgets),
    allowed_addresses: JSON.stringify(key.allowedAddresses),
  };
}
