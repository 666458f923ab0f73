// Signing in through an identity provider: the way there, and the way back.
import type { Context, Middleware } from 'koa';
import { AppError, toAppError } from '#client/errors/app-error.js';
import { noteAudit } from '../audit.js';
import { patient } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { type Flow, keepFlow, takeFlow } from '../oidc/flow.js';
import { pagePath } from '../oidc/page-path.js';
import type { OidcProvider } from '../oidc/provider.js';
import { queryText } from '../paging.js';
import { publicAddress } from '../public-address.js';
import { asVisitor, clientOf, setSession, visitorIf, visitorOf } from '../session.js';

/** GET oidc/start?to=…: sends the browser to the provider. */
export function startOidc(deps: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    try {
      go(ctx, await beginOidc(ctx, deps, oidc, { to: pagePath(queryText(ctx, 'to')) }));
    } catch (error) {
      // Somebody looks at this in a browser.
      go(ctx, problemPath('../../sign-in', problemOf(ctx, deps, error)));
    }
  };
}

/** The address to which the browser is to be sent, having given it what it needs on the way back. Raises not_found and as `begin`. */
export async function beginOidc(
  ctx: Context,
  { config }: ConsoleDeps,
  oidc: OidcProvider | undefined,
  way: Pick<Flow, 'to' | 'session'>,
): Promise<string> {
  if (oidc === undefined) throw new AppError('not_found', 'No identity provider is set up here.', { details: { what: 'path' } });
  const { location, challenge } = await oidc.begin(redirectUri(ctx, config));
  keepFlow(ctx, { ...challenge, ...way });
  return location;
}

/** GET oidc/callback: the provider has sent the browser back. */
export function finishOidc(deps: ConsoleDeps, oidc: OidcProvider | undefined): Middleware {
  return async (ctx: Context) => {
    const flow = takeFlow(ctx);
    const page = flow?.session === undefined ? '../../sign-in' : '../../settings';
    try {
      if (oidc === undefined || flow === undefined)
        throw new AppError('sign_in_refused', 'The way through the identity provider took too long, or began elsewhere.', {
          details: { why: 'expired' },
        });
      const claims = await oidc.finish(redirectUri(ctx, deps.config), ctx.search, flow);
      if (flow.session !== undefined) return await connected(ctx, deps, flow.session, claims);
      const context = patient();
      const { signedIn } = await deps.peers.users.signInWithIdentity(
        { claims, maySignUp: deps.config.signUp || deps.config.oidcSignUp, client: clientOf(ctx) },
        context,
      );
      setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
      // Relative, so that it holds wherever a proxy has put the console; and only ever a page of it.
      go(ctx, `../../${pagePath(flow.to)}`);
    } catch (error) {
      go(ctx, problemPath(page, problemOf(ctx, deps, error)));
    }
  };
}

/** Connects the identity with the person who set out, if it is still they who come back. */
async function connected(
  ctx: Context,
  deps: ConsoleDeps,
  sessionId: string,
  claims: Awaited<ReturnType<OidcProvider['finish']>>,
): Promise<void> {
  const visitor = await visitorIf(ctx, deps);
  if (visitor?.session.id !== sessionId)
    throw new AppError('sign_in_refused', 'Somebody else is signed in now.', { details: { why: 'expired' } });
  const { identity } = await asVisitor(ctx, () => deps.peers.users.connectIdentity({ sessionId, claims }, patient()));
  await noteAudit(ctx, deps, {
    accountId: '',
    action: 'profile.connect',
    targetId: identity!.id,
    detail: { user: visitorOf(ctx).user.id, issuer: identity!.issuer, email: identity!.email },
  });
  go(ctx, '../../settings?connected=1');
}

function redirectUri(ctx: Context, config: ConsoleDeps['config']): string {
  return `${publicAddress(ctx, config)}/console/api/oidc/callback`;
}

function go(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.set('location', location);
  ctx.set('referrer-policy', 'no-referrer');
  ctx.body = '';
}

function problemPath(page: string, problem: string): string {
  return `${page}?problem=${encodeURIComponent(problem)}`;
}

/** The word by which the page knows what to say. */
function problemOf(ctx: Context, { log }: ConsoleDeps, error: unknown): string {
  const shown = toAppError(error);
  if (shown.reason === 'internal')
    log.error({ err: error, path: ctx.path }, 'a sign-in through the identity provider failed for a reason of ours');
  if (shown.reason === 'already_exists') return 'identity_taken';
  return shown.reason === 'sign_in_refused' ? (shown.details['why'] ?? 'refused') : shown.reason;
}
