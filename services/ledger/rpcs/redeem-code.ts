// RedeemCode: credits an account with a code, once.
import type { CallContext } from '#client/call-context.js';
import type { RedeemCodeRequest, RedeemCodeResponse } from '#proto/ledger/v1/ledger.js';
import { redeem } from '../codes/redeem.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, checkedText } from '../requests/fields.js';

const secretCharactersMax = 100;

/** Raises code_refused, code_throttled, failed_precondition (more than an account can hold) and invalid_request. */
export async function redeemCode(request: RedeemCodeRequest, context: CallContext, deps: RpcDeps): Promise<RedeemCodeResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  return redeem(accountId, checkedText('code', request.secret, secretCharactersMax), context, context, deps);
}
