// GetAccount: returns one account by its id.
import type { CallContext } from '#client/call-context.js';
import type { GetAccountRequest, GetAccountResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes } from '../requests/fields.js';
import { found } from '../requests/found.js';

/** Raises invalid_request and not_found. */
export async function getAccount(request: GetAccountRequest, _context: CallContext, deps: RpcDeps): Promise<GetAccountResponse> {
  return { account: found(await deps.accounts.find(accountIdBytes(request.accountId)), 'account') };
}
