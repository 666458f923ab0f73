// Reverse: takes back what is left of an entry.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import type { ReverseRequest, ReverseResponse } from '#proto/ledger/v1/ledger.js';
import { entryEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { reverseOperation } from '../requests/operations.js';
import { existingEntry } from './get-entry.js';

/** Raises not_found (the entry), failed_precondition, balance_empty, idempotency_mismatch and invalid_request. */
export async function reverse(request: ReverseRequest, context: CallContext, deps: RpcDeps): Promise<ReverseResponse> {
  // Entries never change, so it is read without locks.
  const entry = await existingEntry(request, deps);
  const operation = reverseOperation(request, entry);
  const audit = (reply: CreditReply): AuditRecord => {
    const ofCall = 'holdId' in operation ? { request_id: operation.holdId } : {};
    return deps.auditLog.record(context, entryEvent('account.reverse', reply, { ...ofCall, reversed_entry_id: entry.id }));
  };
  return perform({ ...operation, audit }, context, deps);
}
