// The session cookie, and the protection against requests that other sites make with it.
import type { Context, Middleware, Next } from 'koa';
import { dayMs } from '#kit/clock.js';
import { hasReason } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { type ActorToken, type Client, type GetSessionResponse, type ManagementKey, Session, type User } from '#proto/auth/v1/users.js';
import { type AccountAccess, assertAllowed } from './access.js';
import { type Acting, actingAs, unknownUserContextOf } from './call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { authenticateBy, bearerKeyOf } from './management-key.js';
import type { Permission } from '../schemas/profile.js';

// With TLS, neither another host of the same domain nor an attacker on a plain http connection can set a cookie with this name (RFC 6265bis,
// section 4.1.3.2). Only the name for the request's protocol admits a request, since the other name would bypass this protection.
const plainName = 'tollgate_session';
const nameOf = (ctx: Context): string => (ctx.protocol === 'https' ? `__Host-${plainName}` : plainName);
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** Holds a signed-in user. */
export interface Visitor {
  readonly user: User;
  readonly session: Session;
  readonly memberships: GetSessionResponse['memberships'];
  /** Set if a program acts for the user; the session is then empty, since no operation on sessions has a scope. */
  readonly managementKey?: ManagementKey;
  readonly secondFactorMissing: boolean;
  /** Accounts of the user that are closed to them until they have a second factor. */
  readonly secondFactorAccounts: GetSessionResponse['secondFactorAccounts'];
}

const visitors = new WeakMap<object, Visitor>();
const actings = new WeakMap<object, Acting>();

/** Returns the user of the request, whom `signedIn` has set. */
export function visitorOf(ctx: Context): Visitor {
  const visitor = visitors.get(ctx);
  if (visitor === undefined) throw new Error('The route is not behind the session middleware.');
  return visitor;
}

/** Admits requests with a session or a management key; their RPCs act for its user. Raises session_unknown, and what an invalid key raises. */
export function signedIn(deps: SessionDeps): Middleware {
  const [bySession, byKey] = [withSession(deps), withManagementKey(deps)];
  return (ctx: Context, next: Next) => (bearerKeyOf(ctx) === undefined ? bySession : byKey)(ctx, next);
}

type SessionDeps = Pick<ConsoleDeps, 'peers' | 'config' | 'clock' | 'limiter'>;

function withManagementKey(deps: SessionDeps): Middleware {
  return async (ctx: Context, next: Next) => {
    const read = authenticateBy(bearerKeyOf(ctx)!, ctx, deps);
    const { key, user, membership, actorToken } = await read();
    await deps.limiter.admitManagement(key!.id, deps.config.managementPerMinuteMax);
    // Operators have the role of an owner in the account of the key, and no other.
    const visitor = {
      user: { ...user!, isOperator: false },
      session: Session.fromPartial({}),
      memberships: [membership!],
      secondFactorMissing: false,
      secondFactorAccounts: [],
      managementKey: key!,
    };
    visitors.set(ctx, visitor);
    await actingAs(
      actingBy(actorToken, async () => (await read()).actorToken, deps),
      next,
    );
  };
}

function withSession(deps: Pick<ConsoleDeps, 'peers' | 'config' | 'clock'>, readToken = tokenOf): Middleware {
  const { peers, config } = deps;
  return async (ctx: Context, next: Next) => {
    const token = readToken(ctx);
    if (token === undefined) throw fault('session_unknown', {});
    const request = { token, clientAddress: ctx.ip, accountId: String(ctx['params']?.account ?? '') };
    const read = (): Promise<GetSessionResponse> => peers.users.getSession(request, unknownUserContextOf({ config }));
    // The cookie of an ended session is kept: by the time that this response arrives, the browser may have that of a new session.
    const { session, user, memberships, actorToken, secondFactorMissing, secondFactorAccounts } = await read();
    visitors.set(ctx, { session: session!, user: user!, memberships, secondFactorMissing, secondFactorAccounts });
    const acting = actingBy(actorToken, async () => (await read()).actorToken, deps);
    actings.set(ctx, acting);
    await actingAs(acting, next);
  };
}

// Longer than any single RPC takes.
const renewedBeforeExpiryMs = 45_000;

/** Returns an actor token that is replaced before it expires. */
function actingBy(
  first: ActorToken | undefined,
  next: () => Promise<ActorToken | undefined>,
  { clock }: Pick<ConsoleDeps, 'clock'>,
): Acting {
  let present = first;
  return {
    token: () => present?.token,
    async renew() {
      if (present === undefined || Number(present.expiresAtMs) - clock.nowMs() < renewedBeforeExpiryMs) present = await next();
    },
  };
}

/** Returns the signed-in user, if any, for operations that do not require one. */
export async function visitorIf(ctx: Context, deps: ConsoleDeps, readToken = tokenOf): Promise<Visitor | undefined> {
  try {
    await withSession(deps, readToken)(ctx, async () => undefined);
    return visitorOf(ctx);
  } catch (error) {
    if (hasReason(error, 'session_unknown')) return undefined;
    throw error;
  }
}

/** Runs the function for the user whom `visitorIf` has found, if any. */
export function asVisitor<T>(ctx: Context, run: () => T): T {
  const acting = actings.get(ctx);
  return acting === undefined ? run() : actingAs(acting, run);
}

/** Returns the language in which the user reads mails: the one that the console sends, otherwise the browser's. */
export function languageOf(ctx: Context): string {
  return ctx.acceptsLanguages(['en', 'zh-CN']) || 'en';
}

/** Returns the client of the request. */
export function clientOf(ctx: Context): Client {
  return { address: ctx.ip, userAgent: ctx.get('user-agent') };
}

/** Returns the account in the path and the user's access to it, if the user has the permission there. Raises not_found and role_not_permitted. */
export function accountOf(ctx: Context, permission: Permission): AccountAccess & { accountId: string } {
  const { memberships, user, secondFactorAccounts } = visitorOf(ctx);
  const accountId = String(ctx['params'].account);
  if (!user.isOperator && secondFactorAccounts.some(({ id }) => id === accountId)) throw fault('account_second_factor', {});
  return { accountId, ...assertAllowed(memberships, user.isOperator, accountId, permission) };
}

/**
 * Rejects changes that another site makes a browser send. Such a request cannot have the console's header without a CORS preflight, which is
 * never allowed, and its headers show where it comes from (https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html).
 */
export function sameSite({ publicUrl }: { readonly publicUrl: string | undefined }): Middleware {
  const publicHosts = publicUrl === undefined ? [] : [hostOf(publicUrl)];
  return async (ctx: Context, next: Next) => {
    // No site can make a browser send a key.
    if (ctx.method === 'GET' || ctx.method === 'HEAD' || bearerKeyOf(ctx) !== undefined) return next();
    const [origin, fetchSite] = [ctx.get('origin'), ctx.get('sec-fetch-site')];
    if (ctx.get('x-tollgate-console') !== '1') {
      throw fault('console_header', {});
    }
    // Current browsers report the site of the request (https://www.w3.org/TR/fetch-metadata/), which also works behind a proxy that changes the host.
    const isOwn = origin === '' || [ctx.host, ...publicHosts].includes(hostOf(origin));
    if (fetchSite !== '' ? fetchSite !== 'same-origin' : !isOwn) throw fault('other_site', {});
    return next();
  };
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** As long as auth lets a session last at most (TOLLGATE_AUTH_SESSION_LIFE). */
const cookieLifeMs = 365 * dayMs;

/** Sets the session cookie, which scripts cannot read. It outlasts the session, whose end moves ahead with each use. */
export function setSession(ctx: Context, token: string): void {
  // Without Secure on plain http, where browsers would not return a secure cookie: the gateway may run without TLS in a private network.
  ctx.cookies.set(nameOf(ctx), token, {
    httpOnly: true,
    sameSite: 'lax',
    secure: ctx.protocol === 'https',
    path: '/',
    expires: new Date(Date.now() + cookieLifeMs),
    overwrite: true,
  });
  if (plainTokenOf(ctx) !== undefined) remove(ctx, plainName, false);
}

/** Whether the request has a session cookie, which may have expired. */
export function hasSessionCookie(ctx: Context): boolean {
  return tokenOf(ctx) !== undefined;
}

/** Removes the session cookie. */
export function clearSession(ctx: Context): void {
  remove(ctx, nameOf(ctx), ctx.protocol === 'https');
}

function remove(ctx: Context, name: string, secure: boolean): void {
  ctx.cookies.set(name, '', { httpOnly: true, sameSite: 'lax', secure, path: '/', expires: new Date(0), overwrite: true });
}

/** Returns the token of the session cookie. */
export function tokenOf(ctx: Context): string | undefined {
  return tokenNamed(ctx, nameOf(ctx));
}

/** Returns, for a request with TLS, the token of the cookie that the browser has from using the gateway without TLS. Only to end its session. */
export function plainTokenOf(ctx: Context): string | undefined {
  return ctx.protocol === 'https' ? tokenNamed(ctx, plainName) : undefined;
}

function tokenNamed(ctx: Context, name: string): string | undefined {
  const token = ctx.cookies.get(name);
  return token !== undefined && tokenForm.test(token) ? token : undefined;
}
