// What a browser keeps between the redirect to the identity provider and the callback: in a cookie that scripts cannot read, valid once and
// for ten minutes. Each flow has a cookie of its own, named by its state, so that flows in several tabs do not replace each other. A callback
// without its cookie did not begin in this browser, and is rejected.
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Context } from 'koa';

const Flow = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  /** The page of the console to go to afterwards. */
  to: Type.String(),
  /** The session whose user connects the identity or authenticates again; absent for a sign-in. */
  session: Type.Optional(Type.String()),
  reauthenticates: Type.Optional(Type.Boolean()),
  /** The token of the invitation that the user accepts. Kept here because URLs are logged and the state parameter reaches the provider. */
  invitation: Type.Optional(Type.String()),
});
const check = Compile(Flow);

/** Holds the state of one browser's sign-in. */
export type Flow = Static<typeof Flow>;

const lifeMs = 10 * 60_000;

/** Maximum number of flows that a browser keeps, since its cookies are part of every request. */
const flowsMax = 5;

/** The form of a state of openid-client, which is part of the cookie's name. */
const stateForm = /^[\w-]{43}$/;

// With TLS, other hosts of the same domain cannot set a cookie with this name (RFC 6265bis, section 4.1.3.2).
const prefixOf = (ctx: Context): string => (ctx.protocol === 'https' ? '__Host-tollgate_oidc_' : 'tollgate_oidc_');

/** Stores the flow in the browser for the callback. Removes other flows beyond the maximum. */
export function keepFlow(ctx: Context, flow: Flow): void {
  // Browsers send the oldest cookie of a path first (RFC 6265, section 5.4).
  const others = namesIn(ctx).filter((name) => name !== prefixOf(ctx) + flow.state);
  for (const name of others.slice(0, Math.max(0, others.length - (flowsMax - 1)))) set(ctx, name, '', new Date(0));
  const value = Buffer.from(JSON.stringify(flow)).toString('base64url');
  set(ctx, prefixOf(ctx) + flow.state, value, new Date(Date.now() + lifeMs));
}

/** Returns the flow with this state from the browser and removes it; undefined when it is absent or malformed. */
export function takeFlow(ctx: Context, state: string): Flow | undefined {
  if (!stateForm.test(state)) return undefined;
  const name = prefixOf(ctx) + state;
  const value = ctx.cookies.get(name);
  if (value === undefined) return undefined;
  set(ctx, name, '', new Date(0));
  try {
    const flow: unknown = JSON.parse(Buffer.from(value, 'base64url').toString());
    return check.Check(flow) && flow.state === state ? flow : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the names of the cookies of all flows in the browser. */
function namesIn(ctx: Context): string[] {
  const names = ctx
    .get('cookie')
    .split(';')
    .map((cookie) => cookie.split('=', 1)[0]!.trim());
  return names.filter((name) => name.startsWith(prefixOf(ctx)) && stateForm.test(name.slice(prefixOf(ctx).length)));
}

function set(ctx: Context, name: string, value: string, expires: Date): void {
  // Lax, since the callback is a navigation from another site.
  ctx.cookies.set(name, value, {
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.protocol === 'https',
    path: '/',
    expires,
    overwrite: true,
  });
}
