// The second factors of the signed-in user.
import { fieldFault } from '#client/errors/fault.js';
import { type AddSecondFactorRequest, type ReauthenticateRequest, SecondFactorKind } from '#proto/auth/v1/users.js';
import { pagePath } from '../oidc/page-path.js';
import { beginOidc } from '../oidc/sign-in.js';
import { proofOf, renderChallenge, renderEnrolment, renderSecondFactor } from '../render/second-factor.js';
import {
  type AddSecondFactor as AddBody,
  AddSecondFactor,
  BeginSecondFactor,
  Reauthenticate,
  ReauthenticateByProvider,
  type Reauthenticate as ReauthenticateBody,
  RecoveryCodes,
  RenameSecondFactor,
  SecondFactor,
  SecondFactorAdded,
  SecondFactorBegun,
  SecondFactorChallenge,
  SecondFactors,
} from '../schemas/second-factor.js';
import { IdentityBegun } from '../schemas/profile.js';
import { languageOf } from '../session/session.js';
import { type Area, created, done, ok, operation } from '../table/operation.js';

export const needsRecent =
  'With the rule `reauthenticate`: the user has not authenticated in this session within the last 15 minutes; call /me/reauthentication first.';

export const secondFactor: Area = {
  title: 'Second factor',
  description: 'The authenticator app, the passkeys and the recovery codes of the signed-in user.',
  operations: [
    operation('GET', '/me/second-factors', {
      summary: 'List the second factors.',
      who: 'signed in',
      answers: [ok(SecondFactors)],
      handle: async ({ visitor, context }, { peers }) => {
        const { factors, recoveryCodesLeft } = await peers.users.listSecondFactors({ userId: visitor.user.id }, context('patient'));
        return { data: factors.map(renderSecondFactor), recovery_codes_left: recoveryCodesLeft };
      },
    }),
    operation('POST', '/me/second-factors/begin', {
      summary: 'Start adding a second factor.',
      who: 'signed in',
      body: BeginSecondFactor,
      answers: [ok(SecondFactorBegun)],
      errors: { failed_precondition: needsRecent },
      handle: async ({ body, visitor: { session }, context }, { peers }) => {
        const kind = body.kind === 'totp' ? SecondFactorKind.SECOND_FACTOR_KIND_TOTP : SecondFactorKind.SECOND_FACTOR_KIND_PASSKEY;
        return renderEnrolment(await peers.users.beginSecondFactor({ sessionId: session.id, kind }, context('patient')));
      },
    }),
    operation('POST', '/me/second-factors', {
      summary: 'Add a second factor after checking its proof. The answer for the first one includes the recovery codes.',
      who: 'signed in',
      body: AddSecondFactor,
      answers: [created(SecondFactorAdded)],
      errors: {
        already_exists: 'The passkey has already been added.',
        failed_precondition: 'More than 15 minutes have passed since it was begun.',
      },
      handle: async ({ ctx, body, visitor: { session }, context }, { peers }) => {
        const { enrolment, name } = body;
        const request = { sessionId: session.id, enrolment, name, proof: additionOf(body), language: languageOf(ctx) };
        const { factor, recoveryCodes } = await peers.users.addSecondFactor(request, context('patient'));
        return { factor: renderSecondFactor(factor!), recovery_codes: recoveryCodes.length === 0 ? null : recoveryCodes };
      },
    }),
    operation('PATCH', '/me/second-factors/{id}', {
      summary: 'Rename a second factor.',
      who: 'signed in',
      body: RenameSecondFactor,
      answers: [ok(SecondFactor)],
      handle: async ({ body: { name }, params: { id: factorId }, visitor: { session }, context }, { peers }) => {
        const { factor } = await peers.users.renameSecondFactor({ sessionId: session.id, factorId, name }, context('patient'));
        return renderSecondFactor(factor!);
      },
    }),
    operation('DELETE', '/me/second-factors/{id}', {
      summary: 'Remove a second factor, and with the last one also the recovery codes.',
      who: 'signed in',
      answers: [done()],
      errors: { failed_precondition: needsRecent },
      handle: async ({ ctx, params: { id: factorId }, visitor: { session }, context }, { peers }) => {
        await peers.users.removeSecondFactor({ sessionId: session.id, factorId, language: languageOf(ctx) }, context('patient'));
      },
    }),
    operation('POST', '/me/recovery-codes', {
      summary: 'Replace the recovery codes.',
      who: 'signed in',
      answers: [created(RecoveryCodes)],
      errors: { failed_precondition: needsRecent },
      handle: async ({ ctx, visitor: { session }, context }, { peers }) => {
        const request = { sessionId: session.id, language: languageOf(ctx) };
        const { recoveryCodes } = await peers.users.createRecoveryCodes(request, context('patient'));
        return { recovery_codes: recoveryCodes };
      },
    }),
    operation('POST', '/me/reauthentication/begin', {
      summary: 'Start authenticating again with a second factor.',
      who: 'signed in',
      answers: [ok(SecondFactorChallenge)],
      handle: async ({ visitor: { session }, context }, { peers }) => {
        const { challenge } = await peers.users.beginReauthentication({ sessionId: session.id }, context('patient'));
        return renderChallenge(challenge!);
      },
    }),
    operation('POST', '/me/reauthentication', {
      summary: 'Authenticate again, with the password or a second factor; at the identity provider, by /me/reauthentication/oidc.',
      who: 'signed in',
      body: Reauthenticate,
      answers: [done('Second factors can be changed for 15 minutes.')],
      errors: {
        sign_in_refused: 'The password or the second factor was not accepted.',
        sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
      },
      handle: async ({ ctx, body, visitor: { session }, context }, { peers }) => {
        const by = reauthenticationOf(body, languageOf(ctx));
        await peers.users.reauthenticate({ sessionId: session.id, by }, context('patient'));
      },
    }),
    operation('POST', '/me/reauthentication/oidc', {
      summary: 'Start authenticating again at the identity provider, which asks the user to sign in even if they are signed in there.',
      who: 'signed in',
      body: ReauthenticateByProvider,
      answers: [ok(IdentityBegun, 'The address of the provider; the browser returns to /oidc/callback.')],
      errors: { not_found: 'No identity provider is configured.' },
      handle: async ({ ctx, body, visitor: { session } }, deps) => ({
        location: await beginOidc(ctx, deps, { to: pagePath(body.to ?? ''), session: session.id, reauthenticates: true }),
      }),
    }),
  ],
};

function additionOf({ totp_code: code, passkey }: AddBody): AddSecondFactorRequest['proof'] {
  if (typeof code === 'string') return { $case: 'totpCode', value: code };
  if (passkey === undefined || passkey === null) throw fieldFault('totp_code', 'required');
  return { $case: 'passkeyResponseJson', value: JSON.stringify(passkey) };
}

function reauthenticationOf({ password, token, ...proof }: ReauthenticateBody, language: string): ReauthenticateRequest['by'] {
  if (typeof password === 'string') return { $case: 'password', value: password };
  if (typeof token !== 'string') throw fieldFault('password', 'required');
  return { $case: 'secondFactor', value: proofOf({ token, ...proof }, language) };
}
