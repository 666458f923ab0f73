// Release: ends a hold at the cost of its last checkpoint.
import type { CallContext } from '#client/call-context.js';
import type { ReleaseRequest, ReleaseResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { perform } from '../lane/perform.js';
import { toHoldMessage } from '../requests/messages.js';
import { releaseOperation } from '../requests/operations.js';

/** A hold that has ended is returned unchanged. Raises invalid_request. */
export async function release(request: ReleaseRequest, context: CallContext, deps: RpcDeps): Promise<ReleaseResponse> {
  const { hold } = await perform(releaseOperation(request), context, deps);
  return { hold: hold === undefined ? undefined : toHoldMessage(hold) };
}
