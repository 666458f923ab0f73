// Sign-in at an identity provider: the redirect to it, and the callback.
import type { Context } from 'koa';
import { AppError, toAppError } from '#client/errors/app-error.js';
import type { IdentityResponse } from '#proto/auth/v1/users.js';
import { contextOf } from '../session/call-contexts.js';
import type { OperationDeps } from '../deps.js';
import { publicAddress } from '../../http/public-address.js';
import { beginSession } from '../session/begin-session.js';
import { asVisitor, clientOf, languageOf, visitorIf } from '../session/session.js';
import type { Call } from '../table/operation.js';
import { type Flow, keepFlow, takeFlow } from './flow.js';
import { pagePath } from './page-path.js';

/** Redirects the browser to the provider; after the sign-in it is redirected to the page `to`. */
export async function startOidc(ctx: Context, deps: OperationDeps, to: string): Promise<void> {
  try {
    redirect(ctx, await beginOidc(ctx, deps, { to: pagePath(to) }));
  } catch (error) {
    // This is a navigation in a browser, so errors are shown on a page.
    redirect(ctx, problemPath('../../sign-in', problemOf(ctx, deps, error)));
  }
}

/** Stores the state of the sign-in in the browser and returns the address of the provider. Raises not_found, and the errors of `begin`. */
export async function beginOidc(ctx: Context, { config, peers }: OperationDeps, flow: Pick<Flow, 'to' | 'session'>): Promise<string> {
  const { location, challenge } = await peers.users.beginIdentitySignIn(
    { redirectUri: redirectUri(ctx, config) },
    contextOf({ config }, 'patient'),
  );
  keepFlow(ctx, { ...challenge!, ...flow });
  return location;
}

/** Signs in the user whom the provider has sent back, or connects the identity with the user who is signed in. */
export async function finishOidc(
  call: Pick<Call<never, { state?: string | undefined }>, 'ctx' | 'query' | 'context'>,
  deps: OperationDeps,
): Promise<void> {
  const { ctx, query, context } = call;
  const flow = takeFlow(ctx, query.state ?? '');
  const page = flow?.session === undefined ? '../../sign-in' : '../../settings/security';
  try {
    if (flow === undefined)
      throw new AppError('sign_in_refused', 'The sign-in at the identity provider took too long, or was started in another browser.', {
        details: { why: 'expired' },
      });
    const { state, nonce, verifier } = flow;
    const response = { redirectUri: redirectUri(ctx, deps.config), query: ctx.search, challenge: { state, nonce, verifier } };
    if (flow.session !== undefined) return await connect(ctx, deps, flow.session, response);
    const { signedIn } = await deps.peers.users.signInWithIdentity(
      { response, client: clientOf(ctx), language: languageOf(ctx) },
      context('patient'),
    );
    await beginSession(call, signedIn!, deps);
    // Relative, so that it works behind a proxy with any path; and always a page of the console.
    redirect(ctx, `../../${pagePath(flow.to)}`);
  } catch (error) {
    redirect(ctx, problemPath(page, problemOf(ctx, deps, error)));
  }

  /** Connects the identity, if the user who started is still signed in. */
  async function connect(ctx: Context, deps: OperationDeps, sessionId: string, response: IdentityResponse): Promise<void> {
    const visitor = await visitorIf(ctx, deps);
    if (visitor?.session.id !== sessionId)
      throw new AppError('sign_in_refused', 'Another user is signed in now.', { details: { why: 'expired' } });
    await asVisitor(ctx, () => deps.peers.users.connectIdentity({ sessionId, response, language: languageOf(ctx) }, context('patient')));
    redirect(ctx, '../../settings/security?connected=1');
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

/** Returns the code from which the page chooses its message. */
function problemOf(ctx: Context, { log }: OperationDeps, error: unknown): string {
  const shown = toAppError(error);
  if (shown.reason === 'internal')
    log.error({ err: error, path: ctx.path }, 'a sign-in at the identity provider failed with an internal error');
  if (shown.reason === 'already_exists') return 'identity_taken';
  return shown.reason === 'sign_in_refused' ? (shown.details['why'] ?? 'refused') : shown.reason;
}
