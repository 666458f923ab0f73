// Renders a key and its money as JSON. Amounts are USD as decimal strings.
import { AccountState, type Key } from '#proto/auth/v1/auth.js';
import type { Balance, KeySpend } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money.js';
import { keyStateWord } from '#rules/key-state.js';

/** Returns the body of GET /v1/key, which is refused to keys of suspended accounts. */
export function renderKey(key: Key, balance: Balance, spend: KeySpend | undefined, nowMs: number): Record<string, unknown> {
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
    state: keyStateWord({ key, spend, accountState: AccountState.ACCOUNT_STATE_ACTIVE, nowMs }),
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
