// PeopleService, one line per RPC.
import { callContext } from '#kit/rpc/call-context.js';
import type { PeopleService } from '#proto/auth/v1/people.js';
import type { PeopleDeps } from './deps.js';
import { acceptInvitation } from './rpcs/accept-invitation.js';
import { appendAuditEvents } from './rpcs/append-audit-events.js';
import { appendAudit } from './rpcs/append-audit.js';
import { confirmPassword } from './rpcs/confirm-password.js';
import { connectIdentity } from './rpcs/connect-identity.js';
import { createSignInLink } from './rpcs/create-sign-in-link.js';
import { createUser } from './rpcs/create-user.js';
import { disconnectIdentity } from './rpcs/disconnect-identity.js';
import { endSessions } from './rpcs/end-sessions.js';
import { getInvitation } from './rpcs/get-invitation.js';
import { getMailOptions } from './rpcs/get-mail-options.js';
import { getSession } from './rpcs/get-session.js';
import { invite } from './rpcs/invite.js';
import { listAudit } from './rpcs/list-audit.js';
import { listIdentities } from './rpcs/list-identities.js';
import { listInvitations } from './rpcs/list-invitations.js';
import { listMembers } from './rpcs/list-members.js';
import { listSessions } from './rpcs/list-sessions.js';
import { listUsers } from './rpcs/list-users.js';
import { putMember } from './rpcs/put-member.js';
import { redeemSignInLink } from './rpcs/redeem-sign-in-link.js';
import { removeMember } from './rpcs/remove-member.js';
import { requestPasswordReset } from './rpcs/request-password-reset.js';
import { resetPassword } from './rpcs/reset-password.js';
import { revokeInvitation } from './rpcs/revoke-invitation.js';
import { setPassword } from './rpcs/set-password.js';
import { signInByIdentity } from './rpcs/sign-in-by-identity.js';
import { signIn } from './rpcs/sign-in.js';
import { signUp } from './rpcs/sign-up.js';
import { updateProfile } from './rpcs/update-profile.js';
import { updateUser } from './rpcs/update-user.js';
import { verifyAudit } from './rpcs/verify-audit.js';

/** The implementation of the contract over these dependencies. */
export function peopleService(deps: PeopleDeps): PeopleService {
  return {
    createUser: (request, context = unknownCaller) => createUser(request, context, deps),
    listUsers: (request, context = unknownCaller) => listUsers(request, context, deps),
    updateUser: (request, context = unknownCaller) => updateUser(request, context, deps),
    setPassword: (request, context = unknownCaller) => setPassword(request, context, deps),
    updateProfile: (request, context = unknownCaller) => updateProfile(request, context, deps),
    confirmPassword: (request, context = unknownCaller) => confirmPassword(request, context, deps),
    signUp: (request, context = unknownCaller) => signUp(request, context, deps),
    signInByIdentity: (request, context = unknownCaller) => signInByIdentity(request, context, deps),
    connectIdentity: (request, context = unknownCaller) => connectIdentity(request, context, deps),
    listIdentities: (request, context = unknownCaller) => listIdentities(request, context, deps),
    disconnectIdentity: (request, context = unknownCaller) => disconnectIdentity(request, context, deps),
    signIn: (request, context = unknownCaller) => signIn(request, context, deps),
    requestPasswordReset: (request, context = unknownCaller) => requestPasswordReset(request, context, deps),
    resetPassword: (request, context = unknownCaller) => resetPassword(request, context, deps),
    getMailOptions: (request, context = unknownCaller) => getMailOptions(request, context, deps),
    createSignInLink: (request, context = unknownCaller) => createSignInLink(request, context, deps),
    redeemSignInLink: (request, context = unknownCaller) => redeemSignInLink(request, context, deps),
    getSession: (request, context = unknownCaller) => getSession(request, context, deps),
    listSessions: (request, context = unknownCaller) => listSessions(request, context, deps),
    endSessions: (request, context = unknownCaller) => endSessions(request, context, deps),
    invite: (request, context = unknownCaller) => invite(request, context, deps),
    listInvitations: (request, context = unknownCaller) => listInvitations(request, context, deps),
    getInvitation: (request, context = unknownCaller) => getInvitation(request, context, deps),
    revokeInvitation: (request, context = unknownCaller) => revokeInvitation(request, context, deps),
    acceptInvitation: (request, context = unknownCaller) => acceptInvitation(request, context, deps),
    listMembers: (request, context = unknownCaller) => listMembers(request, context, deps),
    putMember: (request, context = unknownCaller) => putMember(request, context, deps),
    removeMember: (request, context = unknownCaller) => removeMember(request, context, deps),
    appendAudit: (request, context = unknownCaller) => appendAudit(request, context, deps),
    appendAuditEvents: (request, context = unknownCaller) => appendAuditEvents(request, context, deps),
    listAudit: (request, context = unknownCaller) => listAudit(request, context, deps),
    verifyAudit: (request, context = unknownCaller) => verifyAudit(request, context, deps),
  };
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
