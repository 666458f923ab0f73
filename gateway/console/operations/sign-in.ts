// How users sign up, sign in and sign out.
import { RevokeSessionsRequest, type SecondFactorChallenge, type SignedIn, SignUpRequest } from '#proto/auth/v1/users.js';
import { proofOf, renderChallenge } from '../render/second-factor.js';
import { renderInvitation } from '../render/users.js';
import { OfferedInvitation } from '../schemas/members.js';
import { IdentityBegun } from '../schemas/profile.js';
import { ProveSecondFactor, SecondFactorRequired } from '../schemas/second-factor.js';
import {
  AcceptInvitation,
  FinishOidc,
  LinkToken,
  FinishSignUp,
  RequestPasswordReset,
  ResetPassword,
  SignedUp,
  SignIn,
  SignInOptions,
  SignUp,
  StartOidc,
} from '../schemas/sign-in.js';
import type { OperationDeps } from '../deps.js';
import { beginOidc, finishOidc, startOidc } from '../oidc/sign-in.js';
import { orNull } from '../render/values.js';
import { beginSession } from '../session/begin-session.js';
import { asVisitor, clearSession, clientOf, languageOf, visitorIf } from '../session/session.js';
import { type Area, type Call, created, done, ok, operation } from '../table/operation.js';
import { unlessUnavailable } from '../unavailable.js';

const signedInAnswer = 'Signed in; the cookie is set.';
const orChallenge = {
  status: 202,
  description: 'A second factor is needed: send its proof to /session/second-factor.',
  schema: SecondFactorRequired,
} as const;
const errors = {
  sign_in_refused: 'The error does not say which part was wrong.',
  sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
};

export const signIn: Area = {
  title: 'Sign-in',
  description: 'A session is a cookie, which these operations set.',
  operations: [
    operation('GET', '/sign-in-options', {
      summary: 'Show the ways to sign in other than a password.',
      who: 'anyone',
      answers: [ok(SignInOptions)],
      handle: async ({ context }, { peers }) => {
        const options = await unlessUnavailable(peers.users.getSignInOptions({}, context('brief')));
        return {
          sign_up: options?.signUp === true,
          password_reset: options?.passwordReset === true,
          oidc: options?.identityProvider === undefined ? null : { name: options.identityProvider.name },
          passkey_origin: orNull(options?.passkeyOrigin ?? ''),
        };
      },
    }),
    operation('POST', '/session', {
      summary: 'Sign in with an address and a password.',
      who: 'anyone',
      body: SignIn,
      answers: [done(signedInAnswer), orChallenge],
      errors,
      handle: async (call, deps) =>
        beginOrChallenge(call, await deps.peers.users.signIn({ ...call.body, client: clientOf(call.ctx) }, call.context('patient')), deps),
    }),
    operation('POST', '/session/link', {
      summary: 'Sign in with the token of a link, which works once.',
      who: 'anyone',
      body: LinkToken,
      answers: [done(signedInAnswer), orChallenge],
      errors,
      handle: async (call, deps) => {
        const request = { ...call.body, client: clientOf(call.ctx) };
        return beginOrChallenge(call, await deps.peers.users.redeemSignInLink(request, call.context('patient')), deps);
      },
    }),
    operation('POST', '/session/passkey', {
      summary: 'Start a sign-in with only a passkey.',
      who: 'anyone',
      answers: [ok(SecondFactorRequired, "Send the browser's response to /session/second-factor.")],
      errors: { failed_precondition: 'Passkeys cannot be used at the public address.' },
      handle: async ({ context }, { peers }) => {
        const { challenge } = await peers.users.beginPasskeySignIn({}, context('patient'));
        return { second_factor: renderChallenge(challenge!) };
      },
    }),
    operation('POST', '/session/second-factor', {
      summary: 'Finish a sign-in with a second factor, or with only a passkey.',
      who: 'anyone',
      body: ProveSecondFactor,
      answers: [done(signedInAnswer)],
      errors: { ...errors, sign_in_refused: 'The proof was not accepted, or the challenge has expired.' },
      handle: async (call, deps) => {
        const { ctx, body, context } = call;
        const request = { proof: proofOf(body, languageOf(ctx)), client: clientOf(ctx) };
        const { signedIn } = await deps.peers.users.finishSignIn(request, context('patient'));
        await beginSession(call, signedIn!, deps);
      },
    }),
    operation('DELETE', '/session', {
      summary: 'Sign out.',
      who: 'signed in',
      answers: [done('Signed out; the cookie is gone.')],
      handle: async ({ ctx, visitor: { user, session }, context }, { peers }) => {
        await peers.users.revokeSessions(RevokeSessionsRequest.fromPartial({ userId: user.id, sessionId: session.id }), context('patient'));
        clearSession(ctx);
      },
    }),
    operation('POST', '/sign-up', {
      summary: 'Create a user, an account that the user owns, and a session.',
      who: 'anyone',
      body: SignUp,
      answers: [created(SignedUp, signedInAnswer)],
      errors: { not_found: 'Sign-up is closed.', already_exists: 'The address is in use. Only where no mail can be sent.' },
      handle: async (call, deps) => {
        const { ctx, body, context } = call;
        const { email, name, password, account_name: accountName } = body;
        const request = { email, name, password, accountName, client: clientOf(ctx), token: '', language: languageOf(ctx) };
        const { signedIn, account } = await deps.peers.users.signUp(request, context('patient'));
        if (signedIn !== undefined) await beginSession(call, signedIn, deps);
        return { account_id: account?.id ?? null };
      },
    }),
    operation('POST', '/sign-up/finish', {
      summary:
        'Finish a sign-up with the token of the emailed link, which works once, and the password that was chosen at sign-up. Creates a user, an account that the user owns, and a session.',
      who: 'anyone',
      body: FinishSignUp,
      answers: [created(SignedUp, signedInAnswer)],
      errors: {
        sign_in_refused: 'The link was used, has expired or never existed, or the password is not the one chosen at sign-up.',
        sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
      },
      handle: async (call, deps) => {
        const request = SignUpRequest.fromPartial({ ...call.body, client: clientOf(call.ctx) });
        const { signedIn, account } = await deps.peers.users.signUp(request, call.context('patient'));
        await beginSession(call, signedIn!, deps);
        return { account_id: account!.id };
      },
    }),
    operation('POST', '/password-reset', {
      summary: 'Email a link, valid for an hour, for setting a new password.',
      who: 'anyone',
      body: RequestPasswordReset,
      answers: [done('The same whether or not a user has this address.')],
      errors: { sign_in_throttled: 'Too many were requested from this network; wait for `retry-after`.' },
      handle: async ({ ctx, body, context }, { peers }) => {
        await peers.users.requestPasswordReset({ ...body, client: clientOf(ctx), language: languageOf(ctx) }, context('patient'));
      },
    }),
    operation('POST', '/password-reset/finish', {
      summary: 'Set a new password with the token of such a link, which works once. All sessions of the user end, and a new one begins.',
      who: 'anyone',
      body: ResetPassword,
      answers: [done(signedInAnswer), { ...orChallenge, description: `${orChallenge.description} Then repeat this request.` }],
      errors: { sign_in_refused: 'The link was used, has expired or never existed.' },
      handle: async (call, deps) => {
        const { ctx, body, context } = call;
        const present = await visitorIf(ctx, deps);
        const { token, new_password: newPassword } = body;
        const request = { token, newPassword, client: clientOf(ctx), sessionId: present?.session.id ?? '', language: languageOf(ctx) };
        return beginOrChallenge(call, await asVisitor(ctx, () => deps.peers.users.resetPassword(request, context('patient'))), deps);
      },
    }),
    operation('POST', '/invitation', {
      summary: 'Show an invitation by its token.',
      // The token is in the body because addresses are logged.
      who: 'anyone',
      body: LinkToken,
      answers: [ok(OfferedInvitation)],
      handle: async ({ body, context }, { peers }) => {
        const { invitation } = await peers.users.getInvitation(body, context('patient'));
        return renderInvitation(invitation!);
      },
    }),
    operation('POST', '/invitation/accept', {
      summary: 'Accept an invitation. Creates a membership and a session.',
      who: 'anyone',
      body: AcceptInvitation,
      answers: [done(signedInAnswer), { ...orChallenge, description: `${orChallenge.description} Then repeat this request.` }],
      errors,
      handle: async (call, deps) => {
        const { ctx, body, context } = call;
        const { token, name, password } = body;
        const present = await visitorIf(ctx, deps);
        const request = { token, name: name ?? '', password: password ?? '', client: clientOf(ctx), sessionId: present?.session.id ?? '' };
        return beginOrChallenge(call, await asVisitor(ctx, () => deps.peers.users.acceptInvitation(request, context('patient'))), deps);
      },
    }),
    operation('POST', '/invitation/oidc', {
      summary: 'Start accepting an invitation at the identity provider, which must have verified the invited address.',
      who: 'anyone',
      body: LinkToken,
      answers: [ok(IdentityBegun, 'The address of the provider; the browser returns to /oidc/callback.')],
      errors: { not_found: 'The invitation was accepted, revoked or has expired, or no identity provider is configured.' },
      handle: async ({ ctx, body: { token }, context }, deps) => {
        const { invitation } = await deps.peers.users.getInvitation({ token }, context('patient'));
        return { location: await beginOidc(ctx, deps, { to: `accounts/${invitation!.accountId}`, invitation: token }) };
      },
    }),
    operation('GET', '/oidc/start', {
      summary: 'Send a browser to the identity provider. A signed-in user who comes from outside the console is redirected to `to`.',
      who: 'anyone',
      query: StartOidc,
      answers: [{ status: 303, description: 'To the provider, to the page `to`, or to the sign-in page with `?problem=`.' }],
      handle: ({ ctx, query }, deps) => startOidc(ctx, deps, query.to ?? ''),
    }),
    operation('GET', '/oidc/callback', {
      summary: 'Receive a browser from the identity provider.',
      who: 'anyone',
      query: FinishOidc,
      answers: [{ status: 303, description: 'To a page of the console, with `?problem=` or `?unconfirmed=` if it failed.' }],
      handle: (call, deps) => finishOidc(call, deps),
    }),
  ],
};

/** Begins the session, or returns the challenge of the second factor. */
async function beginOrChallenge(
  call: Pick<Call, 'ctx' | 'context'>,
  { signedIn, challenge }: { signedIn: SignedIn | undefined; challenge: SecondFactorChallenge | undefined },
  deps: OperationDeps,
): Promise<SecondFactorRequired | undefined> {
  if (challenge === undefined) {
    await beginSession(call, signedIn!, deps);
    return undefined;
  }
  call.ctx.status = orChallenge.status;
  return { second_factor: renderChallenge(challenge) };
}
