// Sign-in, user profiles, and members of an account.
import type {
  AccountAuditEvent,
  AccountSecurity,
  Invite,
  InvitationCreated,
  LinkMail,
  Member,
  OfferedInvitation,
  OpenInvitation,
  User,
} from '../../../gateway/console/schemas/members.js';
import type { Ended, Identity, Session, SetPassword, UpdatedUser, UpdateMe } from '../../../gateway/console/schemas/profile.js';
import type { AcceptInvitation, SignInOptions, SignUp } from '../../../gateway/console/schemas/sign-in.js';
import type { SignInChallenge } from './second-factor.js';
import { api, apiUrl, type Page } from './client.js';
import type { ProjectRole, Role } from './session.js';

export type {
  AccountAuditEvent as AuditEvent,
  Identity,
  LinkMail as MailStanding,
  Member,
  OfferedInvitation,
  OpenInvitation,
  Session,
  SignInOptions,
};

export const getSignInOptions = (signal?: AbortSignal): Promise<SignInOptions> => api.get('/sign-in-options', { signal });
export const signIn = (body: { email: string; password: string }): Promise<SignInChallenge> => api.post('/session', { body });
export const signInByLink = (token: string): Promise<SignInChallenge> => api.post('/session/link', { body: { token } });
export const requestPasswordReset = (email: string): Promise<void> => api.post('/password-reset', { body: { email } });
export const resetPassword = (body: { token: string; new_password: string }): Promise<SignInChallenge> =>
  api.post('/password-reset/finish', { body });
export const signUp = (body: SignUp): Promise<{ account_id: string | null }> => api.post('/sign-up', { body });
export const finishSignUp = (body: { token: string; password: string }): Promise<{ account_id: string }> =>
  api.post('/sign-up/finish', { body });

/** Returns the address at which a browser starts signing in with the identity provider. `page` is where it returns to, for example `/settings`. */
export const oidcUrl = (page: string): string => apiUrl('/oidc/start', { to: page.replace(/^\/+/, '') });

export const getInvitation = (token: string, signal?: AbortSignal): Promise<OfferedInvitation> =>
  api.post('/invitation', { body: { token }, signal });
export const beginInvitationSignIn = (token: string): Promise<{ location: string }> => api.post('/invitation/oidc', { body: { token } });
export const acceptInvitation = (body: AcceptInvitation): Promise<SignInChallenge> => api.post('/invitation/accept', { body });

export const updateMe = (body: UpdateMe): Promise<UpdatedUser> => api.patch('/me', { body });
export const confirmEmail = (token: string): Promise<User> => api.post('/me/email', { body: { token } });
export const putPassword = (body: SetPassword): Promise<void> => api.put('/me/password', { body });
export const listSessions = (signal?: AbortSignal): Promise<{ data: readonly Session[] }> => api.get('/me/sessions', { signal });
export const endSession = (id: string): Promise<Ended> => api.delete(`/me/sessions/${id}`);
export const endOtherSessions = (): Promise<Ended> => api.delete('/me/sessions');
export const listIdentities = (signal?: AbortSignal): Promise<{ data: readonly Identity[] }> => api.get('/me/identities', { signal });
export const connectIdentity = (body: { current_password?: string }): Promise<{ location: string }> => api.post('/me/identities', { body });
export const disconnectIdentity = (id: string): Promise<void> => api.delete(`/me/identities/${id}`);

export const listMembers = (account: string, signal?: AbortSignal): Promise<{ data: readonly Member[] }> =>
  api.get(`/accounts/${account}/members`, { signal });
export const putMember = (account: string, user: string, role: Role): Promise<Member> =>
  api.put(`/accounts/${account}/members/${user}`, { body: { role } });
export const putProjectMember = (account: string, user: string, project: string, role: ProjectRole['role']): Promise<Member> =>
  api.put(`/accounts/${account}/members/${user}/projects/${project}`, { body: { role } });
export const deleteProjectMember = (account: string, user: string, project: string): Promise<Member> =>
  api.delete(`/accounts/${account}/members/${user}/projects/${project}`);
export const deleteMember = (account: string, user: string): Promise<void> => api.delete(`/accounts/${account}/members/${user}`);
export const listInvitations = (account: string, signal?: AbortSignal): Promise<{ data: readonly OpenInvitation[] }> =>
  api.get(`/accounts/${account}/invitations`, { signal });
export const invite = (account: string, body: Invite): Promise<InvitationCreated> => api.post(`/accounts/${account}/invitations`, { body });
export const revokeInvitation = (account: string, id: string): Promise<void> => api.delete(`/accounts/${account}/invitations/${id}`);
export const getAccountSecurity = (account: string, signal?: AbortSignal): Promise<AccountSecurity> =>
  api.get(`/accounts/${account}/security`, { signal });
export const updateAccountSecurity = (account: string, body: AccountSecurity): Promise<AccountSecurity> =>
  api.patch(`/accounts/${account}/security`, { body });
export const listAuditEvents = (
  account: string,
  { actor, cursor }: { readonly actor: string; readonly cursor: string },
  signal?: AbortSignal,
): Promise<Page<AccountAuditEvent>> => api.get(`/accounts/${account}/audit`, { query: { actor, cursor }, signal });
