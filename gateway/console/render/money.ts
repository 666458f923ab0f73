// Keys with their spending, balances, holds and entries as JSON. Amounts are decimal-string USD. Pure.
import { type Balance, BookAccount, type Entry, EntryKind, type Hold, HoldState } from '#proto/ledger/v1/ledger.js';
import type { KeyActivity } from '#proto/metering/v1/metering.js';
import { formatUsd } from '#rules/money.js';
import { type KeyStanding, keyStateWord } from '#rules/key-state.js';
import { instant, maybe, orNull } from './values.js';

/** What is known of a key: what auth says, what it has spent, and when it was used last. */
export interface ConsoleKey extends KeyStanding {
  /** Absent: it was never used. */
  readonly activity: KeyActivity | undefined;
}

/** A key, what it has spent, and when it was used last. */
export function renderConsoleKey(standing: ConsoleKey) {
  const { key, spend, activity } = standing;
  const spent = spend?.spentNanoUsd ?? 0n;
  const held = spend?.heldNanoUsd ?? 0n;
  const limit = key.lifetimeLimitNanoUsd;
  const remaining = limit === undefined ? undefined : limit - spent - held;
  return {
    id: key.id,
    name: key.name,
    last_four: key.lastFour,
    state: keyStateWord(standing),
    models: key.models === undefined || key.models.allModels ? null : key.models.modelIds,
    limit_usd: maybe(limit, formatUsd),
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    remaining_usd: maybe(remaining, (left) => formatUsd(left < 0n ? 0n : left)),
    expires_at: maybe(key.expiresAtMs, instant),
    created_at: instant(key.createdAtMs),
    revoked_at: maybe(key.revokedAtMs, instant),
    former_secrets_until: maybe(key.previousSecretsExpireAtMs, instant),
    last_used_at: maybe(activity?.lastStartedAtMs, instant),
    last_used_model: maybe(activity?.lastModelId, (model) => model),
    last_used_request_id: maybe(activity?.lastCallId, (id) => id),
  };
}

/** A key as the console's API tells of it. */
export type ConsoleKeyView = ReturnType<typeof renderConsoleKey>;

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

/** Kinds of entries by their words. */
export const entryKinds: ReadonlyMap<string, EntryKind> = new Map([
  ['deposit', EntryKind.ENTRY_KIND_DEPOSIT],
  ['charge', EntryKind.ENTRY_KIND_CHARGE],
  ['shortfall', EntryKind.ENTRY_KIND_SHORTFALL],
  ['adjustment', EntryKind.ENTRY_KIND_ADJUSTMENT],
  ['refund', EntryKind.ENTRY_KIND_REFUND],
]);

/** What an entry added to the account's money; below zero for what it took. A shortfall is our expense. */
function effectNanoUsd({ credit, debit, amountNanoUsd }: Entry): bigint {
  if (credit === BookAccount.BOOK_ACCOUNT_CUSTOMER) return amountNanoUsd;
  return debit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? -amountNanoUsd : 0n;
}

/** Where deposited money came from. */
function sourceOf({ kind, debit }: Entry): 'cash' | 'promotion' | null {
  if (kind !== EntryKind.ENTRY_KIND_DEPOSIT) return null;
  return debit === BookAccount.BOOK_ACCOUNT_PROMOTION ? 'promotion' : 'cash';
}

/** What became of the money that was set aside for a call. */
export function renderRecordHold(hold: Hold): Record<string, unknown> {
  return {
    ...renderHold(hold),
    state: HoldState[hold.state].replace('HOLD_STATE_', '').toLowerCase(),
    captured_usd: formatUsd(hold.capturedNanoUsd),
    shortfall_usd: formatUsd(hold.shortfallNanoUsd),
    refunded_usd: formatUsd(hold.refundedNanoUsd),
  };
}

/** A line of the statement: what it did to the money that is not held, and what there was after it. */
export function renderEntry(entry: Entry) {
  const isCall = [EntryKind.ENTRY_KIND_CHARGE, EntryKind.ENTRY_KIND_SHORTFALL, EntryKind.ENTRY_KIND_REFUND].includes(entry.kind);
  return {
    id: entry.id,
    number: Number(entry.seq),
    kind: EntryKind[entry.kind].replace('ENTRY_KIND_', '').toLowerCase(),
    amount_usd: formatUsd(entry.amountNanoUsd),
    effect_usd: formatUsd(effectNanoUsd(entry)),
    balance_after_usd: formatUsd(entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd),
    request_id: isCall ? entry.reference : null,
    key_id: orNull(entry.keyId),
    source: sourceOf(entry),
    reference: isCall || entry.reference === '' ? null : entry.reference,
    reason: orNull(entry.reason),
    corrects_entry_id: orNull(entry.linkedEntryId),
    created_at: instant(entry.createdAtMs),
  };
}
