// How users sign up and sign in.
import { type Static, Type } from 'typebox';
import { Email, Name, nullable, optional, parameter, Password, SealedToken, Text, Token, view } from './shapes.js';

export const SignInOptions = view('SignInOptions', {
  sign_up: Type.Boolean({ description: 'Whether sign-up is open.' }),
  password_reset: Type.Boolean({ description: 'Whether users who have forgotten their password can get a link by email.' }),
  passkey_origin: nullable(
    Text,
    'The origin at which passkeys can be used, such as https://ai.example.com; null if the public address has no HTTPS or is an IP address.',
  ),
  oidc: nullable(Type.Object({ name: Text }), 'The identity provider.'),
});
export type SignInOptions = Static<typeof SignInOptions>;

export const SignedUp = Type.Object({
  account_id: nullable(
    Text,
    'Null: an email was sent to the address, whether or not a user already has it. Its link finishes the sign-up.',
  ),
});

export const SignIn = Type.Object({ email: Email, password: Password });
export const SignUp = Type.Object({ email: Email, name: Name, password: Password, account_name: Name });
export type SignUp = Static<typeof SignUp>;
export const LinkToken = Type.Object({ token: Token });
export const FinishSignUp = Type.Object({ token: SealedToken, password: Password });
export const AcceptInvitation = Type.Object({ token: Token, name: optional(Name), password: optional(Password) });
export type AcceptInvitation = Static<typeof AcceptInvitation>;
export const RequestPasswordReset = Type.Object({ email: Email });
export const ResetPassword = Type.Object({ token: Token, new_password: Password });

export const StartOidc = Type.Object({ to: parameter('The page of the console to show afterwards.') });
export const FinishOidc = Type.Object({ code: parameter('From the provider.'), state: parameter('From the provider.') });
