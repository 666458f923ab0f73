// Refund: refunds what an ended call was charged.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import type { RefundRequest, RefundResponse } from '#proto/ledger/v1/ledger.js';
import { entryEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { refundOperation } from '../requests/operations.js';

/** Raises not_found (the hold), failed_precondition, idempotency_mismatch and invalid_request. */
export async function refund(request: RefundRequest, context: CallContext, deps: RpcDeps): Promise<RefundResponse> {
  const operation = refundOperation(request);
  const audit = (reply: CreditReply): AuditRecord => {
    const detail = { request_id: operation.holdId, reversed_entry_id: reply.entry.linkedEntryId };
    return deps.auditLog.record(context, entryEvent('account.reverse', reply, detail));
  };
  return perform({ ...operation, audit }, context, deps);
}
