// How people can come in, and coming in by oneself.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { noteAudit } from '../audit.js';
import { unlessAway } from '../unavailable.js';
import { briefly, patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import type { OidcProvider } from '../oidc/provider.js';
import { peopleBodies } from '../people-bodies.js';
import { clientOf, setSession } from '../session.js';

/** GET sign-in-options: for everybody. */
export function getSignInOptions(deps: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    const mail = await unlessAway(deps.peers.users.getMailOptions({}, briefly(deps)));
    ctx.body = {
      sign_up: deps.config.signUp,
      password_reset: mail?.canMail === true,
      oidc: oidc === undefined ? null : { name: oidc.name },
    };
  };
}

/** POST sign-up: a person, an account that they own, and a session. */
export function signUp(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    if (!deps.config.signUp)
      throw new AppError('not_found', 'People cannot sign up here by themselves; ask for an invitation.', { details: { what: 'path' } });
    const { email, name, password, account_name: accountName } = await peopleBodies.signUp(ctx);
    const { signedIn, account } = await deps.peers.users.signUp({ email, name, password, accountName, client: clientOf(ctx) }, patient());
    setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
    await noteAudit(ctx, deps, { accountId: account!.id, action: 'account.sign_up', targetId: signedIn!.user!.id, actor: signedIn!.user! });
    ctx.status = 201;
    ctx.body = { account_id: account!.id };
  };
}
