// Why a sign-in at the identity provider is refused.
import { AppError } from '#client/errors/app-error.js';

const messages = {
  disabled: 'This user is disabled; contact the operator.',
  email_unverified:
    'The identity provider did not confirm that the email address is verified. If you cannot verify it there, contact the operator.',
  email_taken: 'A user with this email address already exists. Sign in the way you did before, then connect the identity in the settings.',
  unknown_user: 'There is no user with this email address. Open the link of your invitation, or ask for one.',
  invitation_other:
    'This invitation is for a different email address. Sign in at the identity provider with the invited address, or ask for an invitation to yours.',
  identity_other: 'This identity is not connected with the user who is signed in.',
  auth_time_missing:
    'The identity provider does not say when you signed in there, so it cannot confirm that it is you. Reset your password, or ask the operator for a sign-in link.',
  not_reauthenticated: 'The identity provider did not authenticate you again. Sign out there, then try again.',
} as const;

/** Returns the refusal, with its reason in details.why. */
export function identityRefusal(why: keyof typeof messages): AppError {
  return new AppError('sign_in_refused', messages[why], { details: { why } });
}
