// Who may ask about people.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { PeopleService } from '#proto/auth/v1/people.js';

/** The gateway acts for those who are signed in to its console, operators among them; the operator may call everything. */
export const peoplePolicy: PeerPolicy<keyof PeopleService> = {
  createUser: ['gateway'],
  listUsers: ['gateway'],
  updateUser: ['gateway'],
  setPassword: ['gateway'],
  updateProfile: ['gateway'],
  confirmPassword: ['gateway'],
  signUp: ['gateway'],
  signInByIdentity: ['gateway'],
  connectIdentity: ['gateway'],
  listIdentities: ['gateway'],
  disconnectIdentity: ['gateway'],
  signIn: ['gateway'],
  requestPasswordReset: ['gateway'],
  resetPassword: ['gateway'],
  getMailOptions: ['gateway'],
  createSignInLink: ['gateway'],
  redeemSignInLink: ['gateway'],
  getSession: ['gateway'],
  listSessions: ['gateway'],
  endSessions: ['gateway'],
  invite: ['gateway'],
  listInvitations: ['gateway'],
  getInvitation: ['gateway'],
  revokeInvitation: ['gateway'],
  acceptInvitation: ['gateway'],
  listMembers: ['gateway'],
  putMember: ['gateway'],
  removeMember: ['gateway'],
  appendAudit: ['gateway'],
  appendAuditEvents: ['catalog', 'ledger', 'metering', 'inference'],
  listAudit: ['gateway'],
  verifyAudit: ['gateway'],
};
