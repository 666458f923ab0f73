// Who one is: one's name and address, and the identities by which one signs in.
import type { Context, Middleware } from 'koa';
import { noteAudit } from '../audit.js';
import { patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import type { OidcProvider } from '../oidc/provider.js';
import { peopleBodies } from '../people-bodies.js';
import { renderIdentity, renderUser } from '../render/people.js';
import { visitorOf } from '../session.js';
import { updateMaskOf } from '../update-mask.js';
import { beginOidc } from './oidc.js';

/** PATCH me. */
export function updateMe(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user: before, session } = visitorOf(ctx);
    const body = await peopleBodies.profile(ctx);
    const { user } = await deps.peers.users.updateProfile(
      {
        sessionId: session.id,
        name: body.name ?? '',
        email: body.email ?? '',
        currentPassword: body.current_password ?? '',
        updateMask: updateMaskOf({ name: body.name ?? undefined, email: body.email ?? undefined }, { name: 'name', email: 'email' }),
      },
      patient(),
    );
    const detail = {
      ...(user!.name === before.name ? {} : { name: user!.name }),
      ...(user!.email === before.email ? {} : { email: user!.email, former_email: before.email }),
    };
    if (Object.keys(detail).length > 0)
      await noteAudit(ctx, deps, { accountId: '', action: 'profile.update', targetId: before.id, detail });
    ctx.body = renderUser(user!);
  };
}

/** GET me/identities. */
export function listIdentities({ peers }: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    const { identities } = await peers.users.listIdentities({ userId: visitorOf(ctx).user.id }, patient());
    ctx.body = { data: identities.map((identity) => renderIdentity(identity, oidc)) };
  };
}

/** POST me/identities: where to go to connect one. The way back is `connected` of routes/oidc.ts. */
export function connectIdentity(deps: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    const { session } = visitorOf(ctx);
    const { current_password: currentPassword } = await peopleBodies.identity(ctx);
    await deps.peers.users.confirmPassword({ sessionId: session.id, currentPassword: currentPassword ?? '' }, patient());
    ctx.body = { location: await beginOidc(ctx, deps, oidc, { to: 'settings', session: session.id }) };
  };
}

/** DELETE me/identities/{id}. */
export function disconnectIdentity(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user } = visitorOf(ctx);
    const identityId = String(ctx['params'].id);
    await deps.peers.users.disconnectIdentity({ userId: user.id, identityId }, patient());
    await noteAudit(ctx, deps, { accountId: '', action: 'profile.disconnect', targetId: identityId });
    ctx.status = 204;
  };
}
