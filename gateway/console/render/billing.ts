// Balances, holds and entries as JSON. Amounts are decimal-string USD. Pure.
import {
  type Balance as BalanceMessage,
  BookAccount,
  type Entry as EntryMessage,
  EntryKind,
  type Hold as HoldMessage,
} from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money/money.js';
import { referenceIn } from '#rules/money/reference.js';
import type { Balance, Entry, Hold } from '../schemas/billing.js';
import type { RecordHold } from '../schemas/usage.js';
import { instant, orNull } from './values.js';
import { words } from './words.js';

/** Renders the balance of an account. */
export function renderBalance(balance: BalanceMessage): Balance {
  return {
    available_usd: formatUsd(balance.availableNanoUsd),
    held_usd: formatUsd(balance.heldNanoUsd),
    settled_usd: formatUsd(balance.availableNanoUsd + balance.heldNanoUsd),
    credited_usd: formatUsd(balance.creditedNanoUsd),
    spent_usd: formatUsd(balance.spentNanoUsd),
  };
}

/** Renders the funds held for a call in flight. */
export function renderHold(hold: HoldMessage): Hold {
  return {
    request_id: hold.id,
    key_id: hold.keyId,
    amount_usd: formatUsd(hold.amountNanoUsd),
    used_so_far_usd: formatUsd(hold.checkpointNanoUsd),
    created_at: instant(hold.createdAtMs),
    expires_at: instant(hold.expiresAtMs),
  };
}

/** Returns the effect of an entry on the account's balance, negative for a debit. A shortfall is paid by the operator and has no effect. */
function effectNanoUsd({ credit, debit, amountNanoUsd }: EntryMessage): bigint {
  if (credit === BookAccount.BOOK_ACCOUNT_CUSTOMER) return amountNanoUsd;
  return debit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? -amountNanoUsd : 0n;
}

/** Returns the source of a deposit. */
function sourceOf({ kind, debit }: EntryMessage): 'cash' | 'promotion' | null {
  if (kind !== EntryKind.ENTRY_KIND_DEPOSIT) return null;
  return debit === BookAccount.BOOK_ACCOUNT_PROMOTION ? 'promotion' : 'cash';
}

/** Renders the hold of a call and its outcome. */
export function renderRecordHold(hold: HoldMessage): RecordHold {
  return {
    ...renderHold(hold),
    state: words.holdState.of(hold.state),
    captured_usd: formatUsd(hold.capturedNanoUsd),
    shortfall_usd: formatUsd(hold.shortfallNanoUsd),
    refunded_usd: formatUsd(hold.refundedNanoUsd),
  };
}

/** Kinds of entries that belong to a call. */
const callKinds: readonly EntryKind[] = [
  EntryKind.ENTRY_KIND_CHARGE,
  EntryKind.ENTRY_KIND_CHARGE_CORRECTION,
  EntryKind.ENTRY_KIND_SHORTFALL,
  EntryKind.ENTRY_KIND_REFUND,
  EntryKind.ENTRY_KIND_REFUND_REVERSAL,
];

/** Renders an entry with its effect on the balance and the balance after it. */
export function renderEntry(entry: EntryMessage): Entry {
  const isCall = callKinds.includes(entry.kind);
  return {
    id: entry.id,
    number: Number(entry.seq),
    kind: words.entryKind.of(entry.kind),
    amount_usd: formatUsd(entry.amountNanoUsd),
    effect_usd: formatUsd(effectNanoUsd(entry)),
    balance_after_usd: formatUsd(entry.creditedAfterNanoUsd - entry.spentAfterNanoUsd),
    request_id: isCall ? entry.reference : null,
    key_id: orNull(entry.keyId),
    source: sourceOf(entry),
    reference: isCall ? null : (referenceIn(entry.reason) ?? null),
    reason: orNull(entry.reason),
    corrects_entry_id: orNull(entry.linkedEntryId),
    created_at: instant(entry.createdAtMs),
  };
}
