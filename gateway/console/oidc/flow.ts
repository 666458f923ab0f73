// What a browser keeps between the way to the identity provider and the way back: in a cookie that scripts cannot read, for ten minutes,
// and once. Whoever comes back without it did not set out here.
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Context } from 'koa';

const Flow = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  /** The page of the console to go to afterwards. */
  to: Type.String(),
  /** The session whose person wants to connect the identity; absent: somebody signs in. */
  session: Type.Optional(Type.String()),
});
const check = Compile(Flow);

/** The way of one browser. */
export type Flow = Static<typeof Flow>;

const lifeMs = 10 * 60_000;

// Behind TLS no neighbouring host of the same domain can set a cookie of this name (RFC 6265bis, section 4.1.3.2).
const nameOf = (ctx: Context): string => (ctx.protocol === 'https' ? '__Host-tollgate_oidc' : 'tollgate_oidc');

/** Gives the browser what it needs on its way back. */
export function keepFlow(ctx: Context, flow: Flow): void {
  set(ctx, Buffer.from(JSON.stringify(flow)).toString('base64url'), new Date(Date.now() + lifeMs));
}

/** What the browser kept, which it then keeps no longer; undefined when there is nothing, or what we did not write. */
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
  // Lax, since the way back is a navigation from another site.
  ctx.cookies.set(nameOf(ctx), value, {
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.protocol === 'https',
    path: '/',
    expires,
    overwrite: true,
  });
}
