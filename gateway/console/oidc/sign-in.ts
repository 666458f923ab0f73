// Signing in through an identity provider: to it, and back.
import type { Context } from 'koa';
import { AppError, toAppError } from '#client/errors/app-error.js';
import type { IdentityResponse } from '#proto/auth/v1/users.js';
import { contextOf } from '../session/call-contexts.js';
import type { OperationDeps } from '../deps.js';
import { publicAddress } from '../../http/public-address.js';
import { asVisitor, clientOf, setSession, visitorIf } from '../session/session.js';
import type { Call } from '../table/operation.js';
import { type Flow, keepFlow, takeFlow } from './flow.js';
import { pagePath } from './page-path.js';

/** Sends the browser to the provider, and afterwards to the page `to`. */
export async function startOidc(ctx: Context, deps: OperationDeps, to: string): Promise<void> {
  try {
    redirect(ctx, await beginOidc(ctx, deps, { to: pagePath(to) }));
  } catch (error) {
    // A user sees this in a browser.
    redirect(ctx, problemPath('../../sign-in', problemOf(ctx, deps, error)));
  }
}

/** The address to which the browser is sent, having given it what it needs on the way back. Raises not_found and as `begin`. */
export async function beginOidc(ctx: Context, { config, peers }: OperationDeps, flow: Pick<Flow, 'to' | 'session'>): Promise<string> {
  const { location, challenge } = await peers.users.beginIdentitySignIn(
    { redirectUri: redirectUri(ctx, config) },
    contextOf({ config }, 'patient'),
  );
  keepFlow(ctx, { ...challenge!, ...flow });
  return location;
}

/** Signs in the user whom the provider has sent back, or connects the identity with the user who is signed in. */
export async function finishOidc({ ctx, context }: Pick<Call, 'ctx' | 'context'>, deps: OperationDeps): Promise<void> {
  const flow = takeFlow(ctx);
  const page = flow?.session === undefined ? '../../sign-in' : '../../settings';
  try {
    if (flow === undefined)
      throw new AppError('sign_in_refused', 'The way through the identity provider took too long, or began elsewhere.', {
        details: { why: 'expired' },
      });
    const { state, nonce, verifier } = flow;
    const response = { redirectUri: redirectUri(ctx, deps.config), query: ctx.search, challenge: { state, nonce, verifier } };
    if (flow.session !== undefined) return await connect(ctx, deps, flow.session, response);
    const { signedIn } = await deps.peers.users.signInWithIdentity({ response, client: clientOf(ctx) }, context('patient'));
    setSession(ctx, signedIn!.token, signedIn!.session!.expiresAtMs);
    // Relative, so that it holds below any path of a proxy; and always a page of the console.
    redirect(ctx, `../../${pagePath(flow.to)}`);
  } catch (error) {
    redirect(ctx, problemPath(page, problemOf(ctx, deps, error)));
  }

  /** Connects the identity with the user who began, if the same user comes back. */
  async function connect(ctx: Context, deps: OperationDeps, sessionId: string, response: IdentityResponse): Promise<void> {
    const visitor = await visitorIf(ctx, deps);
    if (visitor?.session.id !== sessionId)
      throw new AppError('sign_in_refused', 'Another user is signed in now.', { details: { why: 'expired' } });
    await asVisitor(ctx, () => deps.peers.users.connectIdentity({ sessionId, response }, context('patient')));
    redirect(ctx, '../../settings?connected=1');
  }
}

function redirectUri(ctx: Context, config: OperationDeps['config']): string {
  return `${publicAddress(ctx, config)}/console/api/oidc/callback`;
}

function redirect(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.set('location', location);
  ctx.set('referrer-policy', 'no-referrer');
  ctx.body = '';
}

function problemPath(page: string, problem: string): string {
  return `${page}?problem=${encodeURIComponent(problem)}`;
}

/** The word by which the page knows what to say. */
function problemOf(ctx: Context, { log }: OperationDeps, error: unknown): string {
  const shown = toAppError(error);
  if (shown.reason === 'internal')
    log.error({ err: error, path: ctx.path }, 'a sign-in through the identity provider failed for a reason of ours');
  if (shown.reason === 'already_exists') return 'identity_taken';
  return shown.reason === 'sign_in_refused' ? (shown.details['why'] ?? 'refused') : shown.reason;
}
