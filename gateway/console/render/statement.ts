// Statements, receipts and redemption codes as JSON. Amounts are decimal-string USD. Pure.
import type { Account } from '#proto/auth/v1/auth.js';
import { type Entry, type RedemptionCode, RedemptionCodeState, type Statement as StatementMessage } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money/money.js';
import type { Receipt, Statement } from '../schemas/billing.js';
import type { Code, CodeState } from '../schemas/operator/codes.js';
import { renderEntry } from './billing.js';
import { instant, maybe, orNull } from './values.js';
import { words } from './words.js';

/** Renders the figures of a month. */
export function renderStatement(statement: StatementMessage): Statement {
  return {
    month: statement.month,
    from: instant(statement.fromMs),
    until: instant(statement.untilMs),
    opening_usd: formatUsd(statement.openingNanoUsd),
    deposits_usd: formatUsd(statement.depositsNanoUsd),
    adjustments_usd: formatUsd(statement.adjustmentsNanoUsd),
    charges_usd: formatUsd(statement.chargesNanoUsd),
    refunds_usd: formatUsd(statement.refundsNanoUsd),
    closing_usd: formatUsd(statement.closingNanoUsd),
    lines: Number(statement.entries),
    has_archived_lines: statement.hasArchivedEntries,
    is_closed: statement.isClosed,
  };
}

/** Returns a readable number: the account and the entry's position in its journal. */
function receiptNumber(entry: Entry): string {
  return `R-${entry.accountId.slice(-8).toUpperCase()}-${String(entry.seq).padStart(6, '0')}`;
}

/** Renders the receipt of a deposit. */
export function renderReceipt(entry: Entry, corrections: readonly Entry[], account: Pick<Account, 'id' | 'name'>): Receipt {
  const { id, created_at, amount_usd, balance_after_usd, source, reference, reason } = renderEntry(entry);
  return {
    number: receiptNumber(entry),
    entry_id: id,
    account: { id: account.id, name: account.name },
    created_at,
    amount_usd,
    source: source!,
    reference,
    reason,
    balance_after_usd,
    corrections: corrections.map(renderEntry),
  };
}

/** Returns the state of a code. */
function codeState(code: RedemptionCode, nowMs: number): CodeState {
  const isOpen = code.state === RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN;
  if (isOpen && code.expiresAtMs !== undefined && code.expiresAtMs <= BigInt(nowMs)) return 'expired';
  return words.codeState.of(code.state);
}

/** Renders a code for operators. */
export function renderCode(code: RedemptionCode, nowMs: number): Code {
  return {
    id: code.id,
    batch_id: code.batchId,
    last_four: code.lastFour,
    amount_usd: formatUsd(code.amountNanoUsd),
    state: codeState(code, nowMs),
    note: orNull(code.note),
    created_by: orNull(code.createdBy),
    created_at: instant(code.createdAtMs),
    expires_at: maybe(code.expiresAtMs, instant),
    ended_at: maybe(code.endedAtMs, instant),
    account_id: orNull(code.accountId),
    entry_id: orNull(code.entryId),
  };
}
