// A key and its money as JSON. Amounts are decimal-string USD.
import { type Key, KeyState } from '#proto/auth/v1/auth.js';
import type { Balance, KeySpend } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#kit/money.js';

const stateNames: Partial<Record<KeyState, string>> = {
  [KeyState.KEY_STATE_ACTIVE]: 'active',
  [KeyState.KEY_STATE_DISABLED]: 'disabled',
  [KeyState.KEY_STATE_REVOKED]: 'revoked',
};

/** The body of GET /v1/key. */
export function renderKey(key: Key, balance: Balance, spend: KeySpend | undefined): Record<string, unknown> {
  const spent = spend?.spentNanoUsd ?? 0n;
  const held = spend?.heldNanoUsd ?? 0n;
  const limit = key.lifetimeLimitNanoUsd;
  const remaining = limit === undefined ? undefined : limit - spent - held;
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    last_four: key.lastFour,
    account_id: key.accountId,
    state: stateNames[key.state] ?? 'unknown',
    models: key.models === undefined || key.models.allModels ? null : key.models.modelIds,
    expires_at: key.expiresAtMs === undefined ? null : new Date(Number(key.expiresAtMs)).toISOString(),
    limit_usd: limit === undefined ? null : formatUsd(limit),
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    remaining_usd: remaining === undefined ? null : formatUsd(remaining < 0n ? 0n : remaining),
    balance: {
      credited_usd: formatUsd(balance.creditedNanoUsd),
      spent_usd: formatUsd(balance.spentNanoUsd),
      held_usd: formatUsd(balance.heldNanoUsd),
      available_usd: formatUsd(balance.availableNanoUsd),
    },
  };
}
