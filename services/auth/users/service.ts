// UserService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { UserService } from '#proto/auth/v1/users.js';
import type { UserDeps } from './deps.js';
import { acceptInvitation } from './rpcs/accept-invitation.js';
import { appendAuditEvents } from './rpcs/append-audit-events.js';
import { confirmPassword } from './rpcs/confirm-password.js';
import { confirmEmail } from './rpcs/confirm-email.js';
import { connectIdentity } from './rpcs/connect-identity.js';
import { createSignInLink } from './rpcs/create-sign-in-link.js';
import { createUser } from './rpcs/create-user.js';
import { disconnectIdentity } from './rpcs/disconnect-identity.js';
import { revokeSessions } from './rpcs/revoke-sessions.js';
import { getInvitation } from './rpcs/get-invitation.js';
import { beginIdentitySignIn } from './rpcs/begin-identity-sign-in.js';
import { getSignInOptions } from './rpcs/get-sign-in-options.js';
import { getSession } from './rpcs/get-session.js';
import { createInvitation } from './rpcs/create-invitation.js';
import { listAuditEvents } from './rpcs/list-audit-events.js';
import { listIdentities } from './rpcs/list-identities.js';
import { listInvitations } from './rpcs/list-invitations.js';
import { listMembers } from './rpcs/list-members.js';
import { listSessions } from './rpcs/list-sessions.js';
import { listUsers } from './rpcs/list-users.js';
import { putMember } from './rpcs/put-member.js';
import { putProjectMember } from './rpcs/put-project-member.js';
import { redeemSignInLink } from './rpcs/redeem-sign-in-link.js';
import { deleteMember } from './rpcs/delete-member.js';
import { requestPasswordReset } from './rpcs/request-password-reset.js';
import { resetPassword } from './rpcs/reset-password.js';
import { revokeInvitation } from './rpcs/revoke-invitation.js';
import { setPassword } from './rpcs/set-password.js';
import { signInWithIdentity } from './rpcs/sign-in-with-identity.js';
import { signIn } from './rpcs/sign-in.js';
import { signUp } from './rpcs/sign-up.js';
import { updateProfile } from './rpcs/update-profile.js';
import { updateUser } from './rpcs/update-user.js';
import { authenticateManagementKey } from './rpcs/authenticate-management-key.js';
import { createManagementKey } from './rpcs/create-management-key.js';
import { listManagementKeys } from './rpcs/list-management-keys.js';
import { revokeManagementKey } from './rpcs/revoke-management-key.js';
import { finishSignIn } from './second-factor/rpcs/finish-sign-in.js';
import { beginPasskeySignIn } from './second-factor/rpcs/begin-passkey-sign-in.js';
import { beginReauthentication } from './second-factor/rpcs/begin-reauthentication.js';
import { reauthenticate } from './second-factor/rpcs/reauthenticate.js';
import { listSecondFactors } from './second-factor/rpcs/list-second-factors.js';
import { beginSecondFactor } from './second-factor/rpcs/begin-second-factor.js';
import { addSecondFactor } from './second-factor/rpcs/add-second-factor.js';
import { removeSecondFactor } from './second-factor/rpcs/remove-second-factor.js';
import { renameSecondFactor } from './second-factor/rpcs/rename-second-factor.js';
import { createRecoveryCodes } from './second-factor/rpcs/create-recovery-codes.js';
import { resetSecondFactors } from './second-factor/rpcs/reset-second-factors.js';
import { verifyAuditLog } from './rpcs/verify-audit-log.js';

/** Returns the implementation of the contract over these dependencies. */
export function userService(deps: UserDeps): UserService {
  return bindRpcs<UserService, UserDeps>(
    {
      createUser,
      listUsers,
      updateUser,
      setPassword,
      updateProfile,
      confirmEmail,
      confirmPassword,
      signUp,
      signInWithIdentity,
      connectIdentity,
      listIdentities,
      disconnectIdentity,
      signIn,
      requestPasswordReset,
      resetPassword,
      getSignInOptions,
      beginIdentitySignIn,
      createSignInLink,
      redeemSignInLink,
      getSession,
      finishSignIn,
      beginPasskeySignIn,
      beginReauthentication,
      reauthenticate,
      listSecondFactors,
      beginSecondFactor,
      addSecondFactor,
      removeSecondFactor,
      renameSecondFactor,
      createRecoveryCodes,
      resetSecondFactors,
      listSessions,
      revokeSessions,
      createInvitation,
      listInvitations,
      getInvitation,
      revokeInvitation,
      acceptInvitation,
      listMembers,
      putMember,
      putProjectMember,
      deleteMember,
      createManagementKey,
      listManagementKeys,
      revokeManagementKey,
      authenticateManagementKey,
      appendAuditEvents,
      listAuditEvents,
      verifyAuditLog,
    },
    deps,
  );
}
