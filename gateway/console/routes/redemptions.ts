// Redeeming a code in the console.
import type { Context, Middleware } from 'koa';
import { noteAudit } from '../audit.js';
import { contextOf } from '../call-contexts.js';
import { redemptionBodies } from '../redemption-bodies.js';
import type { ConsoleDeps } from '../deps.js';
import { renderBalance, renderEntry } from '../render/money.js';
import { accountOf } from '../session.js';

/** POST redemptions: credits the account once; a repeat is answered as the first time, with `replayed`. */
export function redeemCode(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change money');
    const { code } = await redemptionBodies.redeem(ctx);
    const { entry, balance, replayed } = await deps.peers.ledger.redeemCode({ accountId, secret: code }, contextOf(deps));
    const shown = renderEntry(entry!);
    if (!replayed)
      await noteAudit(ctx, deps, {
        accountId,
        action: 'code.redeem',
        targetId: entry!.id,
        detail: { amount_usd: shown['amount_usd'], reason: entry!.reason },
      });
    ctx.status = replayed ? 200 : 201;
    ctx.body = { entry: shown, balance: renderBalance(balance!), replayed };
  };
}
