// Who one is: one's name and address, and the identities by which one signs in.
import type { Context, Middleware } from 'koa';
import { UpdateProfileRequest } from '#proto/auth/v1/people.js';
import { noteAudit } from '../audit.js';
import { patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import type { OidcProvider } from '../oidc/provider.js';
import { peopleBodies } from '../people-bodies.js';
import { renderIdentity, renderUser } from '../render/people.js';
import { visitorOf } from '../session.js';
import { beginOidc } from './oidc.js';

/** PATCH me. */
export function updateMe(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user: before, session } = visitorOf(ctx);
    const { name, email, present_password: presentPassword } = await peopleBodies.profile(ctx);
    const { user } = await deps.peers.people.updateProfile(
      UpdateProfileRequest.fromPartial({
        sessionId: session.id,
        name: name ?? undefined,
        email: email ?? undefined,
        presentPassword: presentPassword ?? '',
      }),
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
    const { identities } = await peers.people.listIdentities({ userId: visitorOf(ctx).user.id }, patient());
    ctx.body = { data: identities.map((identity) => renderIdentity(identity, oidc)) };
  };
}

/** POST me/identities: where to go to connect one. The way back is `connected` of routes/oidc.ts. */
export function connectIdentity(deps: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    const { session } = visitorOf(ctx);
    const { present_password: presentPassword } = await peopleBodies.identity(ctx);
    await deps.peers.people.confirmPassword({ sessionId: session.id, presentPassword: presentPassword ?? '' }, patient());
    ctx.body = { location: await beginOidc(ctx, deps, oidc, { to: 'settings', session: session.id }) };
  };
}

/** DELETE me/identities/{id}. */
export function disconnectIdentity(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user } = visitorOf(ctx);
    const identityId = String(ctx['params'].id);
    await deps.peers.people.disconnectIdentity({ userId: user.id, identityId }, patient());
    await noteAudit(ctx, deps, { accountId: '', action: 'profile.disconnect', targetId: identityId });
    ctx.status = 204;
  };
}
