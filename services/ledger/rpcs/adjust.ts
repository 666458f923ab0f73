// Adjust: corrects a balance by a new journal entry.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import type { AdjustRequest, AdjustResponse } from '#proto/ledger/v1/ledger.js';
import { adjustEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { adjustOperation } from '../requests/operations.js';

/** Raises balance_empty, not_found (the linked entry), idempotency_mismatch, failed_precondition and invalid_request. */
export async function adjust(request: AdjustRequest, context: CallContext, deps: RpcDeps): Promise<AdjustResponse> {
  const operation = adjustOperation(request);
  const audit = (reply: CreditReply): AuditRecord => deps.auditLog.record(context, adjustEvent(operation, reply));
  return perform({ ...operation, audit }, context, deps);
}
