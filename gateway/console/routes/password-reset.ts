// A forgotten password: a link by mail, and a new one by it.
import type { Context, Middleware } from 'koa';
import { noteAudit } from '../audit.js';
import { patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { peopleBodies } from '../people-bodies.js';
import { clientOf, setSession } from '../session.js';

/** POST password-reset: the same answer for every address. */
export function requestPasswordReset({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { email } = await peopleBodies.requestReset(ctx);
    await peers.users.requestPasswordReset({ email, client: clientOf(ctx) }, patient());
    ctx.status = 204;
  };
}

/** POST password-reset/finish: all sessions end, and one begins. */
export function finishPasswordReset(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { token, new_password: newPassword } = await peopleBodies.finishReset(ctx);
    const { signedIn } = await deps.peers.users.resetPassword({ token, newPassword, client: clientOf(ctx) }, patient());
    setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
    await noteAudit(ctx, deps, { accountId: '', action: 'profile.password_reset', targetId: signedIn!.user!.id, actor: signedIn!.user! });
    ctx.status = 204;
  };
}
