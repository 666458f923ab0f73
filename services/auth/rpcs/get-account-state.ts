// GetAccountState: returns whether an account is suspended.
import type { CallContext } from '#client/call-context.js';
import type { GetAccountStateRequest, GetAccountStateResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';

/** Raises invalid_request and not_found. */
export async function getAccountState(
  request: GetAccountStateRequest,
  _context: CallContext,
  deps: RpcDeps,
): Promise<GetAccountStateResponse> {
  return { state: found(await deps.accounts.find(accountIdBytes(request.accountId)), 'account').state };
}
