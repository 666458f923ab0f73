// How platform keys are shown.
import { type Key, KeyState } from '#proto/auth/v1/auth.js';
import type { KeySpend } from '#proto/ledger/v1/ledger.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';

/** A key, what it has spent, and the instant at which it is looked at. */
export interface KeyAndSpend {
  readonly key: Key;
  /** Absent: it was never used. */
  readonly spend: KeySpend | undefined;
  readonly nowMs: number;
}

/** The one word that says whether calls with the key are served. */
export function keyState({ key, spend, nowMs }: KeyAndSpend): string {
  if (key.state === KeyState.KEY_STATE_REVOKED) return 'revoked';
  if (key.state === KeyState.KEY_STATE_DISABLED) return 'disabled';
  if (key.expiresAtMs !== undefined && key.expiresAtMs <= BigInt(nowMs)) return 'expired';
  const limit = key.lifetimeLimitNanoUsd;
  return limit !== undefined && (spend?.spentNanoUsd ?? 0n) >= limit ? 'limit_reached' : 'active';
}

function remaining({ key, spend }: KeyAndSpend): bigint | undefined {
  const limit = key.lifetimeLimitNanoUsd;
  if (limit === undefined) return undefined;
  const free = limit - (spend?.spentNanoUsd ?? 0n) - (spend?.heldNanoUsd ?? 0n);
  // A limit can be lowered below what was spent.
  return free < 0n ? 0n : free;
}

function models(key: Key): string {
  return key.models?.allModels === true ? 'all' : (key.models?.modelIds ?? []).join(',');
}

/** A key. The secret is not in it: only its last four characters are known. */
export const keyView: View<KeyAndSpend> = {
  json: (item) => ({
    id: item.key.id,
    account_id: item.key.accountId,
    name: item.key.name,
    last_four: item.key.lastFour,
    state: keyState(item),
    models: item.key.models?.allModels === true ? 'all' : (item.key.models?.modelIds ?? []),
    ...usdJson('limit', item.key.lifetimeLimitNanoUsd),
    ...usdJson('spent', item.spend?.spentNanoUsd ?? 0n),
    ...usdJson('held', item.spend?.heldNanoUsd ?? 0n),
    ...usdJson('remaining', remaining(item)),
    expires_at: instantJson(item.key.expiresAtMs),
    created_at: instantJson(item.key.createdAtMs),
    revoked_at: instantJson(item.key.revokedAtMs),
    former_secrets_until: instantJson(item.key.formerSecretsUntilMs),
  }),
  columns: [
    { title: 'key', text: ({ key }) => key.id },
    { title: 'name', text: ({ key }) => key.name },
    { title: 'ends in', text: ({ key }) => key.lastFour },
    { title: 'state', text: keyState },
    { title: 'spent', text: ({ spend }) => usd(spend?.spentNanoUsd ?? 0n), align: 'right' },
    { title: 'limit', text: ({ key }) => (key.lifetimeLimitNanoUsd === undefined ? 'none' : usd(key.lifetimeLimitNanoUsd)), align: 'right' },
    { title: 'models', text: ({ key }) => models(key) },
    { title: 'expires', text: ({ key }) => (key.expiresAtMs === undefined ? 'never' : instant(key.expiresAtMs)) },
  ],
  details: [
    { title: 'key', text: ({ key }) => key.id },
    { title: 'account', text: ({ key }) => key.accountId },
    { title: 'name', text: ({ key }) => key.name },
    { title: 'ends in', text: ({ key }) => key.lastFour },
    { title: 'state', text: keyState },
    { title: 'spent', text: ({ spend }) => usd(spend?.spentNanoUsd ?? 0n) },
    { title: 'held', text: ({ spend }) => usd(spend?.heldNanoUsd ?? 0n) },
    { title: 'limit', text: ({ key }) => (key.lifetimeLimitNanoUsd === undefined ? 'none' : usd(key.lifetimeLimitNanoUsd)) },
    { title: 'remaining', text: (item) => (remaining(item) === undefined ? '' : usd(remaining(item)!)) },
    { title: 'models', text: ({ key }) => models(key) },
    { title: 'expires', text: ({ key }) => (key.expiresAtMs === undefined ? 'never' : instant(key.expiresAtMs)) },
    { title: 'created', text: ({ key }) => instant(key.createdAtMs) },
    { title: 'revoked', text: ({ key }) => instant(key.revokedAtMs) },
    { title: 'old secret until', text: ({ key }) => instant(key.formerSecretsUntilMs) },
  ],
};
