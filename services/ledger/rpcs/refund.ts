// Refund: gives back what an ended call was charged.
import type { CallContext } from '#client/call-context.js';
import type { RefundRequest, RefundResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { refundOperation } from '../requests/operations.js';

/** Raises not_found (the hold), failed_precondition, idempotency_mismatch and invalid_request. */
export async function refund(request: RefundRequest, context: CallContext, deps: RpcDeps): Promise<RefundResponse> {
  return perform(refundOperation(request), context, deps);
}
