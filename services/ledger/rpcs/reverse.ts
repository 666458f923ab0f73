// Reverse: takes back what is left of an entry.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import { type Entry, EntryKind, type ReverseRequest, type ReverseResponse } from '#proto/ledger/v1/ledger.js';
import { entryEvent } from '../books/audit-events.js';
import { seqOfEntryId } from '../books/journal.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { checkedId, checkedIdempotencyKey } from '../requests/fields.js';
import { reverseOperation } from '../requests/operations.js';
import { existingEntry } from './get-entry.js';

/** The kinds of entries whose reversals are of another kind. */
const reversedKinds: Partial<Record<EntryKind, EntryKind>> = {
  [EntryKind.ENTRY_KIND_REFUND]: EntryKind.ENTRY_KIND_CHARGE,
  [EntryKind.ENTRY_KIND_REFUND_REVERSAL]: EntryKind.ENTRY_KIND_REFUND,
};

/** Raises not_found (the entry), failed_precondition, balance_empty, idempotency_mismatch and invalid_request. */
export async function reverse(request: ReverseRequest, context: CallContext, deps: RpcDeps): Promise<ReverseResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const made = await deps.reads.entryOf(accountId, checkedIdempotencyKey(request.idempotencyKey));
  // A repeat returns the first reversal, even if its entry has been archived since. Entries never change, so it is read without locks.
  const entry = made?.linkedEntryId === request.entryId ? reversedBy(made) : await existingEntry(request, deps);
  const operation = reverseOperation(request, entry);
  const audit = (reply: CreditReply): AuditRecord => {
    const ofCall = 'holdId' in operation ? { request_id: operation.holdId } : {};
    return deps.auditLog.record(context, entryEvent('account.reverse', reply, { ...ofCall, reversed_entry_id: entry.id }));
  };
  return perform({ ...operation, audit }, context, deps);
}

/** Returns what a repeat needs of the entry that this reversal took back. Nothing is left of it. */
function reversedBy(reversal: Entry): Entry {
  const { kind, linkedEntryId: id } = reversal;
  return { ...reversal, kind: reversedKinds[kind] ?? kind, id, seq: seqOfEntryId(id), amountNanoUsd: 0n };
}
