// How users sign up, sign in and sign out.
import type { Context } from 'koa';
import { RevokeSessionsRequest, type SecondFactorChallenge, type SignedIn, SignUpRequest } from '#proto/auth/v1/users.js';
import { proofOf, renderChallenge } from '../render/second-factor.js';
import { renderInvitation } from '../render/users.js';
import { OfferedInvitation } from '../schemas/members.js';
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
import { finishOidc, startOidc } from '../oidc/sign-in.js';
import { orNull } from '../render/values.js';
import { asVisitor, clearSession, clientOf, languageOf, setSession, visitorIf } from '../session/session.js';
import { type Area, created, done, ok, operation } from '../table/operation.js';
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
      handle: async ({ ctx, body, context }, { peers }) =>
        beginOrChallenge(ctx, await peers.users.signIn({ ...body, client: clientOf(ctx) }, context('patient'))),
    }),
    operation('POST', '/session/link', {
      summary: 'Sign in with the token of a link, which works once.',
      who: 'anyone',
      body: LinkToken,
      answers: [done(signedInAnswer), orChallenge],
      errors,
      handle: async ({ ctx, body, context }, { peers }) =>
        beginOrChallenge(ctx, await peers.users.redeemSignInLink({ ...body, client: clientOf(ctx) }, context('patient'))),
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
      handle: async ({ ctx, body, context }, { peers }) => {
        const { signedIn } = await peers.users.finishSignIn(
          { proof: proofOf(body, languageOf(ctx)), client: clientOf(ctx) },
          context('patient'),
        );
        begin(ctx, signedIn);
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
      handle: async ({ ctx, body, context }, deps) => {
        const { email, name, password, account_name: accountName } = body;
        const request = { email, name, password, accountName, client: clientOf(ctx), token: '', language: languageOf(ctx) };
        const { signedIn, account } = await deps.peers.users.signUp(request, context('patient'));
        if (signedIn !== undefined) begin(ctx, signedIn);
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
      handle: async ({ ctx, body, context }, deps) => {
        const request = SignUpRequest.fromPartial({ ...body, client: clientOf(ctx) });
        const { signedIn, account } = await deps.peers.users.signUp(request, context('patient'));
        begin(ctx, signedIn);
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
      handle: async ({ ctx, body, context }, deps) => {
        const present = await visitorIf(ctx, deps);
        const { token, new_password: newPassword } = body;
        const request = { token, newPassword, client: clientOf(ctx), sessionId: present?.session.id ?? '' };
        return beginOrChallenge(ctx, await asVisitor(ctx, () => deps.peers.users.resetPassword(request, context('patient'))));
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
      handle: async ({ ctx, body, context }, deps) => {
        const { users } = deps.peers;
        const { token, name, password } = body;
        const present = await visitorIf(ctx, deps);
        const request = { token, name: name ?? '', password: password ?? '', client: clientOf(ctx), sessionId: present?.session.id ?? '' };
        const accepted = await asVisitor(ctx, () => users.acceptInvitation(request, context('patient')));
        const challenge = beginOrChallenge(ctx, accepted);
        if (challenge !== undefined) return challenge;
        const { session } = accepted.signedIn!;
        // The cookie of the new session replaces the previous session's, which the browser could then no longer end.
        if (present !== undefined && present.session.id !== session!.id)
          await asVisitor(ctx, () =>
            users.revokeSessions(
              RevokeSessionsRequest.fromPartial({ userId: present.user.id, sessionId: present.session.id }),
              context('patient'),
            ),
          );
        return undefined;
      },
    }),
    operation('GET', '/oidc/start', {
      summary: 'Send a browser to the identity provider.',
      who: 'anyone',
      query: StartOidc,
      answers: [{ status: 303, description: 'To the provider, or to the sign-in page with `?problem=`.' }],
      handle: ({ ctx, query }, deps) => startOidc(ctx, deps, query.to ?? ''),
    }),
    operation('GET', '/oidc/callback', {
      summary: 'Receive a browser from the identity provider.',
      who: 'anyone',
      query: FinishOidc,
      answers: [{ status: 303, description: 'To a page of the console, or to the sign-in page with `?problem=`.' }],
      handle: (call, deps) => finishOidc(call, deps),
    }),
  ],
};

/** Begins the session, or returns the challenge of the second factor. */
function beginOrChallenge(
  ctx: Context,
  { signedIn, challenge }: { signedIn: SignedIn | undefined; challenge: SecondFactorChallenge | undefined },
): SecondFactorRequired | undefined {
  if (challenge === undefined) {
    begin(ctx, signedIn);
    return undefined;
  }
  ctx.status = orChallenge.status;
  return { second_factor: renderChallenge(challenge) };
}

function begin(ctx: Context, signedIn: SignedIn | undefined): void {
  setSession(ctx, signedIn!.token);
}
