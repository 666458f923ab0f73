// Keys with their spending and activity as JSON. Amounts are decimal-string USD. Pure.
import type { BudgetSpend } from '#proto/ledger/v1/ledger.js';
import type { KeyActivity } from '#proto/metering/v1/metering.js';
import { type KeyStanding, keyStateWord } from '#rules/keys/key-state.js';
import { formatUsd } from '#rules/money/money.js';
import type { ApiKey, ChangedKey } from '../schemas/keys.js';
import { renderBudgets } from './budgets.js';
import { renderRateLimits } from './rate-limits.js';
import { instant, maybe, orNull } from './values.js';

/** Holds the data of auth, the ledger and metering about a key. */
export interface ConsoleKey extends KeyStanding {
  /** Absent: no call of the key is on record or was refused. */
  readonly activity: KeyActivity | undefined;
  /** Undefined while the ledger is unavailable. */
  readonly budgetSpend: readonly BudgetSpend[] | undefined;
}

/** Renders a key with its spending and its last use. */
export function renderConsoleKey(standing: ConsoleKey): ApiKey {
  const { key, spend, activity, budgetSpend } = standing;
  const spent = spend?.spentNanoUsd ?? 0n;
  const held = spend?.heldNanoUsd ?? 0n;
  const limit = key.lifetimeLimitNanoUsd;
  const used = activity?.lastCallId === '' ? undefined : activity;
  const remaining = limit === undefined ? undefined : limit - spent - held;
  return {
    id: key.id,
    project_id: key.projectId,
    name: key.name,
    last_four: key.lastFour,
    state: keyStateWord(standing),
    models: key.models === undefined || key.models.allModels ? null : key.models.modelIds,
    limit_usd: maybe(limit, formatUsd),
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    remaining_usd: maybe(remaining, (left) => formatUsd(left < 0n ? 0n : left)),
    rate_limits: renderRateLimits(key.rateLimits),
    budgets: renderBudgets(key.budgets, budgetSpend),
    allowed_addresses: key.allowedAddresses,
    expires_at: maybe(key.expiresAtMs, instant),
    created_at: instant(key.createdAtMs),
    created_by: orNull(key.createdByUserId),
    revoked_at: maybe(key.revokedAtMs, instant),
    former_secrets_until: maybe(key.previousSecretsExpireAtMs, instant),
    last_used_at: maybe(used?.lastStartedAtMs, instant),
    last_used_model: maybe(used?.lastModelId, (model) => model),
    last_used_request_id: maybe(used?.lastCallId, (id) => id),
    refusing: maybe(activity?.refusing, ({ reason, sinceMs, lastAtMs }) => ({
      reason,
      since: instant(sinceMs),
      last_at: instant(lastAtMs),
    })),
  };
}

/** Renders a key without what an unavailable service knows of it. */
export function renderChangedKey(standing: ConsoleKey, known: { readonly spending: boolean; readonly activity: boolean }): ChangedKey {
  const { spent_usd, held_usd, remaining_usd, last_used_at, last_used_model, last_used_request_id, refusing, ...settings } =
    renderConsoleKey(standing);
  return {
    ...settings,
    ...(known.spending ? { spent_usd, held_usd, remaining_usd } : {}),
    ...(known.activity ? { last_used_at, last_used_model, last_used_request_id, refusing } : {}),
  };
}
