// Refund: refunds what an ended call was charged.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import { type Entry, EntryKind, type RefundRequest, type RefundResponse } from '#proto/ledger/v1/ledger.js';
import { entryEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { refundOperation } from '../requests/operations.js';
import { existingEntry } from './get-entry.js';

/** Raises not_found (the hold or the charge), failed_precondition, idempotency_mismatch and invalid_request. */
export async function refund(request: RefundRequest, context: CallContext, deps: RpcDeps): Promise<RefundResponse> {
  const operation = { ...refundOperation(request), charge: await namedCharge(request, deps) };
  const audit = (reply: CreditReply): AuditRecord => {
    const detail = { request_id: operation.holdId, reversed_entry_id: reply.entry.linkedEntryId };
    return deps.auditLog.record(context, entryEvent('account.reverse', reply, detail));
  };
  return perform({ ...operation, audit }, context, deps);
}

/** Returns the charge that a new request names. Raises not_found unless it is a charge of the call. Entries never change, so it is read without locks. */
async function namedCharge({ accountId, holdId, chargeEntryId, idempotencyKey }: RefundRequest, deps: RpcDeps): Promise<Entry | undefined> {
  if (chargeEntryId === undefined) return undefined;
  // A repeat returns the first refund, even if the charge has been archived since.
  if ((await deps.reads.entryOf(accountId, idempotencyKey)) !== undefined) return undefined;
  const entry = await existingEntry({ accountId, entryId: chargeEntryId }, deps);
  if (entry.kind !== EntryKind.ENTRY_KIND_CHARGE || entry.reference !== holdId)
    throw fault('no_charge', { id: holdId }, { details: { what: 'entry' } });
  return entry;
}
