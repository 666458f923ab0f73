// ExpireHolds: ends open holds whose expiry has passed.
import type { CallContext } from '#client/call-context.js';
import type { ExpireHoldsRequest, ExpireHoldsResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { expireHolds as expire } from '../expiry/expire.js';
import { checkedCount } from '../requests/fields.js';
import { toHoldMessage } from '../requests/messages.js';

/** Raises invalid_request. */
export async function expireHolds(request: ExpireHoldsRequest, context: CallContext, deps: RpcDeps): Promise<ExpireHoldsResponse> {
  const limit = checkedCount('limit', request.limit, { min: 1, max: 1000, default: 200 });
  const expired = await expire(limit, context, deps);
  return { expired: expired.map(toHoldMessage) };
}
