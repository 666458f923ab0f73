// Sign-in at an identity provider, also to accept an invitation: the redirect to it, and the callback.
import type { Context } from 'koa';
import { AppError, toAppError } from '#client/errors/app-error.js';
import { AcceptInvitationRequest, type IdentityResponse } from '#proto/auth/v1/users.js';
import { contextOf } from '../session/call-contexts.js';
import type { OperationDeps } from '../deps.js';
import { publicAddress } from '../../http/public-address.js';
import { beginSession } from '../session/begin-session.js';
import { asVisitor, clientOf, languageOf, visitorIf } from '../session/session.js';
import type { Call } from '../table/operation.js';
import { type Flow, keepFlow, takeFlow } from './flow.js';
import { pagePath } from './page-path.js';

/**
 * Redirects the browser to the provider; after the sign-in it is redirected to the page `to`. A signed-in user is redirected there at once, unless they
 * have followed a link of the console: another site could otherwise replace their session by sending the browser here.
 */
export async function startOidc(ctx: Context, deps: OperationDeps, to: string): Promise<void> {
  try {
    const isOwnLink = ctx.get('sec-fetch-site') === 'same-origin';
    if (!isOwnLink && (await visitorIf(ctx, deps)) !== undefined) return redirect(ctx, `../../${pagePath(to)}`);
    redirect(ctx, await beginOidc(ctx, deps, { to: pagePath(to) }));
  } catch (error) {
    // This is a navigation in a browser, so errors are shown on a page.
    redirect(ctx, `../../sign-in?problem=${encodeURIComponent(problemOf(ctx, deps, error))}`);
  }
}

/** Stores the state of the sign-in in the browser and returns the address of the provider. Raises not_found, and the errors of `begin`. */
export async function beginOidc(
  ctx: Context,
  { config, peers }: OperationDeps,
  flow: Omit<Flow, 'state' | 'nonce' | 'verifier'>,
): Promise<string> {
  const request = { redirectUri: redirectUri(ctx, config), reauthenticate: flow.reauthenticates === true };
  const { location, challenge } = await peers.users.beginIdentitySignIn(request, contextOf({ config }, 'patient'));
  keepFlow(ctx, { ...challenge!, ...flow });
  return location;
}

/** Signs in the user whom the provider has sent back, connects the identity with the user who is signed in, or authenticates that user again. */
export async function finishOidc(
  call: Pick<Call<never, { state?: string | undefined }>, 'ctx' | 'query' | 'context'>,
  deps: OperationDeps,
): Promise<void> {
  const { ctx, query, context } = call;
  const flow = takeFlow(ctx, query.state ?? '');
  try {
    if (flow === undefined)
      throw new AppError('sign_in_refused', 'The sign-in at the identity provider took too long, or was started in another browser.', {
        details: { why: 'expired' },
      });
    const { state, nonce, verifier } = flow;
    const response = { redirectUri: redirectUri(ctx, deps.config), query: ctx.search, challenge: { state, nonce, verifier } };
    if (flow.session !== undefined) {
      await (flow.reauthenticates === true ? reauthenticate : connect)(flow.session, response);
      return redirect(ctx, flow.reauthenticates === true ? `../../${pagePath(flow.to)}` : '../../settings/security?connected=1');
    }
    const who = { client: clientOf(ctx), language: languageOf(ctx) };
    const { signedIn } = await (flow.invitation === undefined
      ? deps.peers.users.signInWithIdentity({ ...who, response }, context('patient'))
      : deps.peers.users.acceptInvitation(
          AcceptInvitationRequest.fromPartial({ ...who, token: flow.invitation, identity: response }),
          context('patient'),
        ));
    await beginSession(call, signedIn!, deps);
    // Relative, so that it works behind a proxy with any path; and always a page of the console.
    redirect(ctx, `../../${pagePath(flow.to)}`);
  } catch (error) {
    // Browsers do not send the fragment, so that the page can show the invitation again.
    const fragment = flow?.invitation === undefined ? '' : `#${flow.invitation}`;
    redirect(ctx, `${problemPage(flow)}=${encodeURIComponent(problemOf(ctx, deps, error))}${fragment}`);
  }

  async function connect(sessionId: string, response: IdentityResponse): Promise<void> {
    await assertStillSignedIn(sessionId);
    await asVisitor(ctx, () => deps.peers.users.connectIdentity({ sessionId, response, language: languageOf(ctx) }, context('patient')));
  }

  async function reauthenticate(sessionId: string, response: IdentityResponse): Promise<void> {
    await assertStillSignedIn(sessionId);
    const by = { $case: 'identity', value: response } as const;
    await asVisitor(ctx, () => deps.peers.users.reauthenticate({ sessionId, by }, context('patient')));
  }

  async function assertStillSignedIn(sessionId: string): Promise<void> {
    const visitor = await visitorIf(ctx, deps);
    if (visitor?.session.id !== sessionId)
      throw new AppError('sign_in_refused', 'Another user is signed in now.', { details: { why: 'expired' } });
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

/** Returns the page that shows why a flow failed, and the parameter for the code. */
function problemPage(flow: Flow | undefined): string {
  if (flow?.invitation !== undefined) return '../../invitation?problem';
  if (flow?.session === undefined) return '../../sign-in?problem';
  return flow.reauthenticates === true ? '../../settings/security?unconfirmed' : '../../settings/security?problem';
}

/** Returns the code from which the page chooses its message. */
function problemOf(ctx: Context, { log }: OperationDeps, error: unknown): string {
  const shown = toAppError(error);
  if (shown.reason === 'internal')
    log.error({ err: error, path: ctx.path }, 'a sign-in at the identity provider failed with an internal error');
  if (shown.reason === 'already_exists') return 'identity_taken';
  return shown.reason === 'sign_in_refused' ? (shown.details['why'] ?? 'refused') : shown.reason;
}
