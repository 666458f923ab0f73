// The signed-in user: name, password, identities and sessions.
import { RevokeSessionsRequest } from '#proto/auth/v1/users.js';
import { defaultLimits } from '../../limits/settings.js';
import { updateMaskOf } from '../table/update-mask.js';
import { beginOidc } from '../oidc/sign-in.js';
import { renderRateLimits } from '../render/rate-limits.js';
import { renderIdentity, renderMe, renderSession, renderUser } from '../render/users.js';
import { User } from '../schemas/members.js';
import {
  ConfirmEmail,
  ConnectIdentity,
  Ended,
  GatewaySettings,
  IdentityBegun,
  IdentityList,
  Me,
  SessionList,
  SetPassword,
  UpdatedUser,
  UpdateMe,
} from '../schemas/profile.js';
import { languageOf } from '../session/session.js';
import { type Area, done, ok, operation } from '../table/operation.js';
import { needsRecent } from './second-factor.js';

const passwordErrors = {
  sign_in_refused: 'The current password is wrong or missing.',
  sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
  failed_precondition:
    'With the rule `reauthenticate`: a user without a password must have authenticated in this session within the last 15 minutes.',
};

export const profile: Area = {
  title: 'Profile',
  description: 'The profile and the sessions of the signed-in user.',
  operations: [
    operation('GET', '/me', {
      summary: "Show the signed-in user and the user's accounts.",
      who: 'signed in',
      answers: [ok(Me)],
      handle: ({ visitor }) => renderMe(visitor),
    }),
    operation('PATCH', '/me', {
      summary:
        "Change the user's name or email address. The address can be changed only with the current password, and where mail can be sent, only with the link that is emailed to the new address.",
      who: 'signed in',
      body: UpdateMe,
      answers: [ok(UpdatedUser)],
      errors: { ...passwordErrors, already_exists: 'The address is in use.' },
      handle: async ({ ctx, body, visitor: { session }, context }, deps) => {
        const request = {
          sessionId: session.id,
          name: body.name ?? '',
          email: body.email ?? '',
          currentPassword: body.current_password ?? '',
          updateMask: updateMaskOf({ name: body.name ?? undefined, email: body.email ?? undefined }, { name: 'name', email: 'email' }),
          language: languageOf(ctx),
        };
        const { user, emailLinkSent } = await deps.peers.users.updateProfile(request, context('patient'));
        return { ...renderUser(user!), email_link_sent: emailLinkSent };
      },
    }),
    operation('POST', '/me/email', {
      summary: "Change the user's email address with the token of the link that was emailed to the new one. The token works once.",
      who: 'signed in',
      body: ConfirmEmail,
      answers: [ok(User)],
      errors: {
        sign_in_refused:
          'The link was used, has expired or was requested before another change (rule `email_link_ended`), or by another user (rule `email_link_other`).',
        already_exists: 'The address is in use.',
      },
      handle: async ({ ctx, body, visitor: { session }, context }, deps) => {
        const request = { sessionId: session.id, token: body.token, language: languageOf(ctx) };
        return renderUser((await deps.peers.users.confirmEmail(request, context('patient'))).user!);
      },
    }),
    operation('PUT', '/me/password', {
      summary: "Change the user's password.",
      who: 'signed in',
      body: SetPassword,
      answers: [done()],
      errors: passwordErrors,
      handle: async ({ ctx, body, visitor: { session }, context }, deps) => {
        const request = {
          sessionId: session.id,
          currentPassword: body.current_password ?? '',
          newPassword: body.new_password,
          language: languageOf(ctx),
        };
        await deps.peers.users.setPassword(request, context('patient'));
      },
    }),
    operation('GET', '/me/identities', {
      summary: 'List the identities that the user can sign in with.',
      who: 'signed in',
      answers: [ok(IdentityList)],
      handle: async ({ visitor, context }, { peers }) => {
        const { identities } = await peers.users.listIdentities({ userId: visitor.user.id }, context('patient'));
        const { identityProvider } = await peers.users.getSignInOptions({}, context('patient'));
        return { data: identities.map((identity) => renderIdentity(identity, identityProvider)) };
      },
    }),
    operation('POST', '/me/identities', {
      summary: 'Start connecting an identity.',
      who: 'signed in',
      body: ConnectIdentity,
      answers: [ok(IdentityBegun, 'The address of the provider; the browser returns to /oidc/callback.')],
      errors: { ...passwordErrors, not_found: 'No identity provider is configured.' },
      handle: async ({ ctx, body, visitor: { session }, context }, deps) => {
        const request = { sessionId: session.id, currentPassword: body.current_password ?? '' };
        await deps.peers.users.confirmPassword(request, context('patient'));
        return { location: await beginOidc(ctx, deps, { to: 'settings/security', session: session.id }) };
      },
    }),
    operation('DELETE', '/me/identities/{id}', {
      summary: 'Disconnect an identity.',
      who: 'signed in',
      answers: [done()],
      errors: { failed_precondition: `It is the only way for the user to sign in. ${needsRecent}` },
      handle: async ({ ctx, params: { id: identityId }, visitor: { session }, context }, deps) => {
        const request = { sessionId: session.id, identityId, language: languageOf(ctx) };
        await deps.peers.users.disconnectIdentity(request, context('patient'));
      },
    }),
    operation('GET', '/me/sessions', {
      summary: "List the user's sessions.",
      who: 'signed in',
      answers: [ok(SessionList)],
      handle: async ({ visitor, context }, { peers }) => {
        const { sessions } = await peers.users.listSessions({ userId: visitor.user.id }, context('patient'));
        return { data: sessions.map((session) => renderSession(session, visitor.session.id)) };
      },
    }),
    operation('DELETE', '/me/sessions', {
      summary: 'Sign out everywhere else.',
      who: 'signed in',
      answers: [ok(Ended)],
      handle: async ({ visitor: { user, session }, context }, { peers }) => {
        const request = RevokeSessionsRequest.fromPartial({ userId: user.id, exceptSessionId: session.id });
        return { ended: (await peers.users.revokeSessions(request, context('patient'))).revoked };
      },
    }),
    operation('DELETE', '/me/sessions/{id}', {
      summary: 'End one session.',
      who: 'signed in',
      answers: [ok(Ended)],
      handle: async ({ params, visitor, context }, { peers }) => {
        const request = RevokeSessionsRequest.fromPartial({ userId: visitor.user.id, sessionId: params.id });
        return { ended: (await peers.users.revokeSessions(request, context('patient'))).revoked };
      },
    }),
    operation('GET', '/settings', {
      summary: 'Show the settings of this gateway that a client needs.',
      who: 'signed in',
      answers: [ok(GatewaySettings)],
      handle(_call, { config }) {
        const { key, project, account, accountModel } = defaultLimits(config);
        return {
          trace_url: config.traceUrl ?? null,
          default_rate_limits: {
            key: renderRateLimits(key),
            project: renderRateLimits(project),
            account: renderRateLimits(account),
            account_model: renderRateLimits(accountModel),
          },
        };
      },
    }),
  ],
};
