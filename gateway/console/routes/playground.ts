// Calls from the playground: charged to a key of the account by somebody who may change its keys, and so could make one.
import type { Context, Middleware, Next } from 'koa';
import { stateOf } from '../../http/request-state.js';
import { assertUsable } from '../../replicas/usable-key.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { accountOf } from '../session.js';
import { ownKey } from './keys.js';

/** POST keys/{id}/chat/completions: goes on as a call with this key. Nobody needs its secret for that, which is nowhere kept. */
export function asKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context, next: Next) => {
    const { accountId } = accountOf(ctx, 'change keys');
    const key = await ownKey(ctx, accountId, deps);
    const context = contextOf(deps);
    const { account } = await deps.peers.auth.getAccount({ accountId }, context);
    assertUsable(key, { accountState: account!.state, accountStateReason: account!.stateReason }, deps.clock.nowMs());
    stateOf(ctx).key = key;
    await next();
  };
}
