// The output of platform keys.
import type { Key } from '#proto/auth/v1/auth.js';
import type { KeyActivity } from '#proto/metering/v1/metering.js';
import { type KeyStanding, keyStateWord } from '#rules/keys/key-state.js';
import { budgetsJson, budgetsText, type SpendOfBudgets } from '../options/budgets.js';
import { instant, instantJson, usd, usdJson, type View } from '../output.js';
import { rateLimitsJson, rateLimitsText } from '../options/rate-limits.js';

/** A key, its spending, its last use, and the current time. */
export interface ShownKey extends KeyStanding {
  /** Absent: no call of the key is on record or was refused. */
  readonly activity: KeyActivity | undefined;
  readonly budgetSpend: SpendOfBudgets;
  /** The parts that are not known, because the ledger or metering is unavailable. */
  readonly unknown: { readonly spend: boolean; readonly activity: boolean };
}

const spentNanoUsd = ({ spend, unknown }: ShownKey): bigint | undefined => (unknown.spend ? undefined : (spend?.spentNanoUsd ?? 0n));
const heldNanoUsd = ({ spend, unknown }: ShownKey): bigint | undefined => (unknown.spend ? undefined : (spend?.heldNanoUsd ?? 0n));
const usdOrUnknown = (nanoUsd: bigint | undefined): string => (nanoUsd === undefined ? '?' : usd(nanoUsd));

function remaining({ key, spend, unknown }: ShownKey): bigint | undefined {
  const limit = key.lifetimeLimitNanoUsd;
  if (limit === undefined || unknown.spend) return undefined;
  const free = limit - (spend?.spentNanoUsd ?? 0n) - (spend?.heldNanoUsd ?? 0n);
  // A limit can be lowered below the spending.
  return free < 0n ? 0n : free;
}

function lastUse({ activity }: ShownKey): KeyActivity | undefined {
  return activity?.lastCallId === '' ? undefined : activity;
}

function lastUsed(item: ShownKey): string {
  if (item.unknown.activity) return '?';
  const used = lastUse(item);
  return used === undefined ? 'never' : instant(used.lastStartedAtMs);
}

function refusing({ activity, unknown }: ShownKey): string {
  if (unknown.activity) return '?';
  const refused = activity?.refusing;
  return refused === undefined ? 'no' : `since ${instant(refused.sinceMs)}: ${refused.reason}`;
}

function models(key: Key): string {
  return key.models?.allModels === true ? 'all' : (key.models?.modelIds ?? []).join(',');
}

/** A key. The secret is not in it: only its last four characters are known. */
export const keyView: View<ShownKey> = {
  json: (item) => ({
    id: item.key.id,
    account_id: item.key.accountId,
    project_id: item.key.projectId,
    name: item.key.name,
    last_four: item.key.lastFour,
    state: keyStateWord(item),
    models: item.key.models?.allModels === true ? 'all' : (item.key.models?.modelIds ?? []),
    ...usdJson('limit', item.key.lifetimeLimitNanoUsd),
    ...usdJson('spent', spentNanoUsd(item)),
    ...usdJson('held', heldNanoUsd(item)),
    ...usdJson('remaining', remaining(item)),
    rate_limits: rateLimitsJson(item.key.rateLimits),
    budgets: budgetsJson(item.key.budgets, item.budgetSpend),
    allowed_addresses: item.key.allowedAddresses,
    expires_at: instantJson(item.key.expiresAtMs),
    created_at: instantJson(item.key.createdAtMs),
    created_by: item.key.createdByUserId === '' ? null : item.key.createdByUserId,
    revoked_at: instantJson(item.key.revokedAtMs),
    former_secrets_until: instantJson(item.key.previousSecretsExpireAtMs),
    last_used_at: instantJson(lastUse(item)?.lastStartedAtMs),
    last_used_model: lastUse(item)?.lastModelId ?? null,
    last_used_request_id: lastUse(item)?.lastCallId ?? null,
    refusing_since: instantJson(item.activity?.refusing?.sinceMs),
    refusing_reason: item.activity?.refusing?.reason ?? null,
  }),
  columns: [
    { title: 'key', text: ({ key }) => key.id },
    { title: 'name', text: ({ key }) => key.name },
    { title: 'ends in', text: ({ key }) => key.lastFour },
    { title: 'state', text: keyStateWord },
    { title: 'spent', text: (item) => usdOrUnknown(spentNanoUsd(item)), align: 'right' },
    {
      title: 'limit',
      text: ({ key }) => (key.lifetimeLimitNanoUsd === undefined ? 'none' : usd(key.lifetimeLimitNanoUsd)),
      align: 'right',
    },
    { title: 'last used', text: lastUsed },
    { title: 'models', text: ({ key }) => models(key) },
    { title: 'expires', text: ({ key }) => (key.expiresAtMs === undefined ? 'never' : instant(key.expiresAtMs)) },
  ],
  details: [
    { title: 'key', text: ({ key }) => key.id },
    { title: 'account', text: ({ key }) => key.accountId },
    { title: 'project', text: ({ key }) => key.projectId },
    { title: 'name', text: ({ key }) => key.name },
    { title: 'ends in', text: ({ key }) => key.lastFour },
    { title: 'state', text: keyStateWord },
    { title: 'spent', text: (item) => usdOrUnknown(spentNanoUsd(item)) },
    { title: 'held', text: (item) => usdOrUnknown(heldNanoUsd(item)) },
    { title: 'limit', text: ({ key }) => (key.lifetimeLimitNanoUsd === undefined ? 'none' : usd(key.lifetimeLimitNanoUsd)) },
    { title: 'remaining', text: (item) => (item.key.lifetimeLimitNanoUsd === undefined ? '' : usdOrUnknown(remaining(item))) },
    { title: 'budgets', text: ({ key, budgetSpend }) => budgetsText(key.budgets, budgetSpend) },
    { title: 'rate limits', text: ({ key }) => rateLimitsText(key.rateLimits) },
    { title: 'models', text: ({ key }) => models(key) },
    { title: 'allowed addresses', text: ({ key }) => key.allowedAddresses.join(', ') || 'all' },
    { title: 'expires', text: ({ key }) => (key.expiresAtMs === undefined ? 'never' : instant(key.expiresAtMs)) },
    { title: 'created', text: ({ key }) => instant(key.createdAtMs) },
    { title: 'created by', text: ({ key }) => key.createdByUserId },
    { title: 'revoked', text: ({ key }) => instant(key.revokedAtMs) },
    { title: 'last used', text: lastUsed },
    { title: 'last model', text: ({ activity }) => activity?.lastModelId ?? '' },
    { title: 'last call', text: ({ activity }) => activity?.lastCallId ?? '' },
    { title: 'refusing calls', text: refusing },
    {
      title: 'old secret until',
      // No secret of a revoked key works any more.
      text: (item) => (keyStateWord(item) === 'revoked' ? '' : instant(item.key.previousSecretsExpireAtMs)),
    },
  ],
};
