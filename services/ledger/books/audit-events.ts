// The audit events of the ledger's entries. Pure.
import type { AuditEvent } from '#kit/audit/audit-event.js';
import { BookAccount, DepositSource } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money/money.js';
import type { AdjustOperation, CreditReply, DepositOperation } from './model.js';

/** Returns the event of an entry that changed the money of an account, with the available balance before and after. */
export function entryEvent(action: string, { entry, balance }: CreditReply, detail: object): AuditEvent {
  const { accountId, amountNanoUsd, credit, id, reason } = entry;
  const effectNanoUsd = credit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? amountNanoUsd : -amountNanoUsd;
  const afterNanoUsd = balance.availableNanoUsd;
  return {
    action,
    accountId,
    targetId: id,
    detail: {
      amount_usd: formatUsd(amountNanoUsd),
      reason,
      ...detail,
      before: { available_usd: formatUsd(afterNanoUsd - effectNanoUsd) },
      after: { available_usd: formatUsd(afterNanoUsd) },
    },
  };
}

/** Returns the event of a deposit. */
export function depositEvent({ source }: DepositOperation, reply: CreditReply): AuditEvent {
  return entryEvent('account.credit', reply, { source: source === DepositSource.DEPOSIT_SOURCE_PROMOTION ? 'promotion' : 'cash' });
}

/** Returns the event of an adjustment: a reversal if it is linked to an entry. */
export function adjustEvent({ amountNanoUsd, linkedEntryId }: AdjustOperation, reply: CreditReply): AuditEvent {
  if (linkedEntryId !== undefined) return entryEvent('account.reverse', reply, { reversed_entry_id: linkedEntryId });
  return entryEvent(amountNanoUsd > 0n ? 'account.credit' : 'account.debit', reply, { source: 'correction' });
}
