// Signing in and out, and who one is.
import type { Context, Middleware } from 'koa';
import { callContext } from '#kit/rpc/call-context.js';
import { type Client, EndSessionsRequest, type SignedIn } from '#proto/auth/v1/people.js';
import { bodies } from '../bodies.js';
import type { ConsoleDeps } from '../deps.js';
import { renderInvitation, renderMe, renderSession } from '../render/people.js';
import { clearSession, setSession, visitorOf } from '../session.js';

/** Checking a password takes a fifth of a second of a core that may be busy. */
const passwordTimeoutMs = 10_000;

const clientOf = (ctx: Context): Client => ({ address: ctx.ip, userAgent: ctx.get('user-agent') });
const patient = () => callContext({ caller: 'gateway', timeoutMs: passwordTimeoutMs });

function begin(ctx: Context, signedIn: SignedIn | undefined): void {
  setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
  ctx.status = 204;
}

/** POST session. */
export function signIn({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { email, password } = await bodies.signIn(ctx);
    begin(ctx, (await peers.people.signIn({ email, password, client: clientOf(ctx) }, patient())).signedIn);
  };
}

/** POST session/link. */
export function signInByLink({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { token } = await bodies.link(ctx);
    begin(ctx, (await peers.people.redeemSignInLink({ token, client: clientOf(ctx) }, patient())).signedIn);
  };
}

/** DELETE session. */
export function signOut({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session } = visitorOf(ctx);
    await peers.people.endSessions(EndSessionsRequest.fromPartial({ userId: user.id, sessionId: session.id }), patient());
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
export function putPassword({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { present_password: presentPassword, new_password: newPassword } = await bodies.password(ctx);
    await peers.people.setPassword({ sessionId: visitorOf(ctx).session.id, presentPassword: presentPassword ?? '', newPassword }, patient());
    ctx.status = 204;
  };
}

/** GET me/sessions. */
export function listSessions({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session: present } = visitorOf(ctx);
    const { sessions } = await peers.people.listSessions({ userId: user.id }, patient());
    ctx.body = { data: sessions.map((session) => renderSession(session, present.id)) };
  };
}

/** DELETE me/sessions and me/sessions/{id}: all others, or one. */
export function endSessions({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { user, session } = visitorOf(ctx);
    const id: string = ctx['params'].id ?? '';
    const { ended } = await peers.people.endSessions({ userId: user.id, sessionId: id, butSessionId: id === '' ? session.id : '' }, patient());
    ctx.body = { ended };
  };
}

/** GET invitations/{token}: for somebody who need not be known yet. */
export function getInvitation({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { invitation, isKnown } = await peers.people.getInvitation({ token: String(ctx['params'].token) }, patient());
    ctx.body = { ...renderInvitation(invitation!), is_known: isKnown };
  };
}

/** POST invitations/{token}/accept. */
export function acceptInvitation({ peers }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { name, password } = await bodies.accept(ctx);
    const request = { token: String(ctx['params'].token), name: name ?? '', password, client: clientOf(ctx), sessionId: '' };
    begin(ctx, (await peers.people.acceptInvitation(request, patient())).signedIn);
  };
}
