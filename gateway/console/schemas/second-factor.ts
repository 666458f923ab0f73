// Second factors: an authenticator app, passkeys and recovery codes.
import { type Static, Type } from 'typebox';
import { Count, nullable, optional, Password, Text, textOf, Time, view } from './shapes.js';

const kinds = ['totp', 'passkey'] as const;

/** JSON that only the browser's WebAuthn functions read or create. */
function webAuthnJson(description: string) {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true, description });
}

export const SecondFactor = view('SecondFactor', {
  id: Text,
  kind: Type.Enum([...kinds], { description: 'An authenticator app or a passkey.' }),
  name: Text,
  created_at: Time,
  last_used_at: nullable(Time, 'Null: it has not been used since it was added.'),
});
export type SecondFactor = Static<typeof SecondFactor>;

export const SecondFactors = view('SecondFactors', {
  data: Type.Array(SecondFactor),
  recovery_codes_left: Count,
});
export type SecondFactors = Static<typeof SecondFactors>;

export const SecondFactorChallenge = view('SecondFactorChallenge', {
  token: Text,
  expires_at: Time,
  totp: Type.Boolean({ description: 'Whether a code of an authenticator app is accepted.' }),
  recovery_codes: Type.Boolean({ description: 'Whether a recovery code is accepted.' }),
  passkey: nullable(webAuthnJson('PublicKeyCredentialRequestOptionsJSON'), 'The options for the browser; null if no passkey can be used.'),
});
export type SecondFactorChallenge = Static<typeof SecondFactorChallenge>;

/** What the user must prove in addition. */
export const SecondFactorRequired = Type.Object({ second_factor: SecondFactorChallenge });
export type SecondFactorRequired = Static<typeof SecondFactorRequired>;

const proofFields = {
  totp_code: optional(Type.String({ maxLength: 20, description: 'The six digits that the app shows.' })),
  recovery_code: optional(textOf(0, 50)),
  passkey: optional(webAuthnJson('AuthenticationResponseJSON of the browser.')),
};
const ChallengeToken = textOf(1, 4000);

/** Exactly one of the proofs. */
export const ProveSecondFactor = Type.Object({ token: ChallengeToken, ...proofFields });
export type ProveSecondFactor = Static<typeof ProveSecondFactor>;

/** The password, or the token of the challenge with one of its proofs. */
export const Reauthenticate = Type.Object({ password: optional(Password), token: optional(ChallengeToken), ...proofFields });
export type Reauthenticate = Static<typeof Reauthenticate>;

export const ReauthenticateByProvider = Type.Object({
  to: optional(Type.String({ maxLength: 500, description: 'The page of the console to show afterwards, such as settings/security.' })),
});

export const BeginSecondFactor = Type.Object({ kind: Type.Enum([...kinds]) });
export const SecondFactorBegun = view('SecondFactorBegun', {
  enrolment: Type.String({ description: 'Must be sent back to add the factor, within 15 minutes.' }),
  totp: nullable(
    Type.Object({
      secret: Type.String({ description: 'Base32, for apps that cannot read the QR code.' }),
      uri: Type.String({ description: 'otpauth://…, the content of the QR code.' }),
      qr: Type.Object({
        size: Type.Integer({ description: 'Width and height in modules, with the quiet zone.' }),
        path: Type.String({ description: 'The dark modules as the path of an SVG.' }),
      }),
    }),
  ),
  passkey: nullable(webAuthnJson('PublicKeyCredentialCreationOptionsJSON')),
});
export type SecondFactorBegun = Static<typeof SecondFactorBegun>;

export const AddSecondFactor = Type.Object({
  enrolment: textOf(1, 4000),
  name: textOf(0, 200),
  totp_code: proofFields.totp_code,
  passkey: optional(webAuthnJson('RegistrationResponseJSON of the browser.')),
});
export type AddSecondFactor = Static<typeof AddSecondFactor>;

export const RenameSecondFactor = Type.Object({ name: textOf(0, 200) });

const RecoveryCodeList = Type.Array(Text, {
  description: 'Each code can be used once instead of a second factor. They are returned only here.',
});
export const SecondFactorAdded = Type.Object({
  factor: SecondFactor,
  recovery_codes: nullable(RecoveryCodeList, 'Null unless it is the first factor.'),
});
export type SecondFactorAdded = Static<typeof SecondFactorAdded>;
export const RecoveryCodes = Type.Object({ recovery_codes: RecoveryCodeList });
export type RecoveryCodes = Static<typeof RecoveryCodes>;
