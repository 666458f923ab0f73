// Keys with their spending, balances, holds and entries as JSON. Amounts are decimal-string USD. Pure.
import { type Key, KeyState } from '#proto/auth/v1/auth.js';
import { type Balance, type Entry, EntryKind, type Hold, type KeySpend } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#kit/money.js';

const instant = (ms: bigint): string => new Date(Number(ms)).toISOString();
const maybe = <T, R>(value: T | undefined, render: (value: T) => R): R | null => (value === undefined ? null : render(value));

/** The one word that says whether calls with a key are served. */
export function keyState(key: Key, spend: KeySpend | undefined, nowMs: number): string {
  if (key.state === KeyState.KEY_STATE_REVOKED) return 'revoked';
  if (key.state === KeyState.KEY_STATE_DISABLED) return 'disabled';
  if (key.expiresAtMs !== undefined && key.expiresAtMs <= BigInt(nowMs)) return 'expired';
  if (key.lifetimeLimitNanoUsd !== undefined && (spend?.spentNanoUsd ?? 0n) >= key.lifetimeLimitNanoUsd) return 'limit_reached';
  return key.formerSecretsUntilMs !== undefined && key.formerSecretsUntilMs > BigInt(nowMs) ? 'rotating' : 'active';
}

/** A key and what it has spent. */
export function renderConsoleKey(key: Key, spend: KeySpend | undefined, nowMs: number): Record<string, unknown> {
  const spent = spend?.spentNanoUsd ?? 0n;
  const held = spend?.heldNanoUsd ?? 0n;
  const limit = key.lifetimeLimitNanoUsd;
  const remaining = limit === undefined ? undefined : limit - spent - held;
  return {
    id: key.id,
    name: key.name,
    last_four: key.lastFour,
    state: keyState(key, spend, nowMs),
    models: key.models === undefined || key.models.allModels ? null : key.models.modelIds,
    limit_usd: maybe(limit, formatUsd),
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    remaining_usd: maybe(remaining, (left) => formatUsd(left < 0n ? 0n : left)),
    expires_at: maybe(key.expiresAtMs, instant),
    created_at: instant(key.createdAtMs),
    revoked_at: maybe(key.revokedAtMs, instant),
    former_secrets_until: maybe(key.formerSecretsUntilMs, instant),
  };
}

/** What an account has. */
export function renderBalance(balance: Balance): Record<string, unknown> {
  return {
    available_usd: formatUsd(balance.availableNanoUsd),
    held_usd: formatUsd(balance.heldNanoUsd),
    settled_usd: formatUsd(balance.availableNanoUsd + balance.heldNanoUsd),
    credited_usd: formatUsd(balance.creditedNanoUsd),
    spent_usd: formatUsd(balance.spentNanoUsd),
  };
}

/** Money set aside for a call in flight. */
export function renderHold(hold: Hold): Record<string, unknown> {
  return {
    request_id: hold.id,
    key_id: hold.keyId,
    amount_usd: formatUsd(hold.amountNanoUsd),
    used_so_far_usd: formatUsd(hold.checkpointNanoUsd),
    created_at: instant(hold.createdAtMs),
    expires_at: instant(hold.expiresAtMs),
  };
}

/** A line of the statement: what it did to the money that is not held, and what there was after it. */
export function renderEntry(entry: Entry): Record<string, unknown> {
  const isCall = [EntryKind.ENTRY_KIND_CHARGE, EntryKind.ENTRY_KIND_SHORTFALL, EntryKind.ENTRY_KIND_REFUND].includes(entry.kind);
  return {
    id: entry.id,
    number: Number(entry.seq),
    kind: EntryKind[entry.kind].replace('ENTRY_KIND_', '').toLowerCase(),
    amount_usd: formatUsd(entry.amountNanoUsd),
    balance_after_usd: formatUsd(entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd),
    request_id: isCall ? entry.reference : null,
    key_id: entry.keyId === '' ? null : entry.keyId,
    reason: entry.reason === '' ? null : entry.reason,
    corrects_entry_id: entry.linkedEntryId === '' ? null : entry.linkedEntryId,
    created_at: instant(entry.createdAtMs),
  };
}
