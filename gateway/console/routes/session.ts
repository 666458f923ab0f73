// Signing in and out, and who one is.
import type { Context, Middleware } from 'koa';
import { RevokeSessionsRequest, type SignedIn } from '#proto/auth/v1/users.js';
import { noteAudit } from '../audit.js';
import { bodies } from '../bodies.js';
import { patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { renderInvitation, renderMe, renderSession } from '../render/people.js';
import { asVisitor, clearSession, clientOf, setSession, visitorIf, visitorOf } from '../session.js';

function begin(ctx: Context, signedIn: SignedIn | undefined): void {
  setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
  ctx.status = 204;
}

/** POST session. */
export function signIn({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { email, password } = await bodies.signIn(ctx);
    begin(ctx, (await peers.users.signIn({ email, password, client: clientOf(ctx) }, patient())).signedIn);
  };
}

/** POST session/link. */
export function signInByLink({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { token } = await bodies.link(ctx);
    begin(ctx, (await peers.users.redeemSignInLink({ token, client: clientOf(ctx) }, patient())).signedIn);
  };
}

/** DELETE session. */
export function signOut({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session } = visitorOf(ctx);
    await peers.users.revokeSessions(RevokeSessionsRequest.fromPartial({ userId: user.id, sessionId: session.id }), patient());
    clearSession(ctx);
    ctx.status = 204;
  };
}

/** GET me. */
export function getMe(): Middleware {
  return async (ctx: Context) => {
    ctx.body = renderMe(visitorOf(ctx));
  };
}

/** PUT me/password. */
export function putPassword(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { session, user } = visitorOf(ctx);
    const { current_password: currentPassword, new_password: newPassword } = await bodies.password(ctx);
    await deps.peers.users.setPassword({ sessionId: session.id, currentPassword: currentPassword ?? '', newPassword }, patient());
    await noteAudit(ctx, deps, { accountId: '', action: 'profile.password', targetId: user.id });
    ctx.status = 204;
  };
}

/** GET me/sessions. */
export function listSessions({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session: present } = visitorOf(ctx);
    const { sessions } = await peers.users.listSessions({ userId: user.id }, patient());
    ctx.body = { data: sessions.map((session) => renderSession(session, present.id)) };
  };
}

/** DELETE me/sessions and me/sessions/{id}: all others, or one. */
export function revokeSessions({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session } = visitorOf(ctx);
    const id: string = ctx['params'].id ?? '';
    const { revoked: ended } = await peers.users.revokeSessions(
      { userId: user.id, sessionId: id, exceptSessionId: id === '' ? session.id : '' },
      patient(),
    );
    ctx.body = { ended };
  };
}

/** POST invitation: what it is for, told to somebody who need not be known yet. The token is in the body, since addresses are logged. */
export function getInvitation({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { invitation, userExists: isKnown } = await peers.users.getInvitation(await bodies.link(ctx), patient());
    ctx.body = { ...renderInvitation(invitation!), is_known: isKnown };
  };
}

/** POST invitation/accept. */
export function acceptInvitation(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { users } = deps.peers;
    const { token, name, password } = await bodies.accept(ctx);
    const { invitation } = await users.getInvitation({ token }, patient());
    const present = await visitorIf(ctx, deps);
    const request = { token, name: name ?? '', password: password ?? '', client: clientOf(ctx), sessionId: present?.session.id ?? '' };
    const { signedIn } = await asVisitor(ctx, () => users.acceptInvitation(request, patient()));
    begin(ctx, signedIn);
    const { user, session } = signedIn!;
    await noteAudit(ctx, deps, {
      accountId: invitation!.accountId,
      action: 'member.accept',
      targetId: user!.id,
      detail: { invitation: invitation!.id },
      actor: user!,
    });
    // The browser has the new session in the place of the one before, which nobody could end any more.
    if (present !== undefined && present.session.id !== session!.id)
      await asVisitor(ctx, () =>
        users.revokeSessions(RevokeSessionsRequest.fromPartial({ userId: present.user.id, sessionId: present.session.id }), patient()),
      );
  };
}
