// Deposit: adds money to an account.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import type { DepositRequest, DepositResponse } from '#proto/ledger/v1/ledger.js';
import { depositEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { depositOperation } from '../requests/operations.js';

/** Raises idempotency_mismatch, failed_precondition (more than an account can hold) and invalid_request. */
export async function deposit(request: DepositRequest, context: CallContext, deps: RpcDeps): Promise<DepositResponse> {
  const operation = depositOperation(request);
  const audit = (reply: CreditReply): AuditRecord => deps.auditLog.record(context, depositEvent(operation, reply));
  return perform({ ...operation, audit }, context, deps);
}
