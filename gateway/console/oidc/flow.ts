// What a browser keeps between the redirect to the identity provider and the callback: in a cookie that scripts cannot read, valid once and
// for ten minutes. A callback without this cookie did not begin in this browser, and is rejected.
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Context } from 'koa';

const Flow = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  /** The page of the console to go to afterwards. */
  to: Type.String(),
  /** The session whose user connects the identity; absent for a sign-in. */
  session: Type.Optional(Type.String()),
});
const check = Compile(Flow);

/** Holds the state of one browser's sign-in. */
export type Flow = Static<typeof Flow>;

const lifeMs = 10 * 60_000;

// With TLS, other hosts of the same domain cannot set a cookie with this name (RFC 6265bis, section 4.1.3.2).
const nameOf = (ctx: Context): string => (ctx.protocol === 'https' ? '__Host-tollgate_oidc' : 'tollgate_oidc');

/** Stores the state in the browser for the callback. */
export function keepFlow(ctx: Context, flow: Flow): void {
  set(ctx, Buffer.from(JSON.stringify(flow)).toString('base64url'), new Date(Date.now() + lifeMs));
}

/** Returns the state from the browser and removes it; undefined when it is absent or malformed. */
export function takeFlow(ctx: Context): Flow | undefined {
  const value = ctx.cookies.get(nameOf(ctx));
  if (value === undefined) return undefined;
  set(ctx, '', new Date(0));
  try {
    const flow: unknown = JSON.parse(Buffer.from(value, 'base64url').toString());
    return check.Check(flow) ? flow : undefined;
  } catch {
    return undefined;
  }
}

function set(ctx: Context, value: string, expires: Date): void {
  // Lax, since the callback is a navigation from another site.
  ctx.cookies.set(nameOf(ctx), value, {
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.protocol === 'https',
    path: '/',
    expires,
    overwrite: true,
  });
}
