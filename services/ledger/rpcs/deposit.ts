// Deposit: adds money to an account.
import type { CallContext } from '#client/call-context.js';
import type { DepositRequest, DepositResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { depositOperation } from '../requests/operations.js';

/** Raises idempotency_mismatch, failed_precondition (more than an account can hold) and invalid_request. */
export async function deposit(request: DepositRequest, context: CallContext, deps: RpcDeps): Promise<DepositResponse> {
  return perform(depositOperation(request), context, deps);
}
