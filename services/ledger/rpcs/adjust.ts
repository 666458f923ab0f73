// Adjust: corrects a balance by a new journal entry.
import type { CallContext } from '#client/call-context.js';
import type { AdjustRequest, AdjustResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { adjustOperation } from '../requests/operations.js';

/** Raises balance_empty, not_found (the linked entry), idempotency_mismatch, failed_precondition and invalid_request. */
export async function adjust(request: AdjustRequest, context: CallContext, deps: RpcDeps): Promise<AdjustResponse> {
  return perform(adjustOperation(request), context, deps);
}
