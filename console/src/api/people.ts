// How people come in, who they are, and who belongs to an account.
import { api, apiUrl, type Page } from './client.js';
import type { Me, Role } from './session.js';

/** The ways in that this gateway offers. */
export interface SignInOptions {
  readonly sign_up: boolean;
  /** Whoever has forgotten their password can have a link mailed. */
  readonly password_reset: boolean;
  readonly oidc: { readonly name: string } | null;
}

/** What an invitation is for. `is_known`: somebody with the address has been here before. */
export interface Invitation {
  readonly id: string;
  readonly account_id: string;
  readonly account_name: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  readonly expires_at: string;
}
export type OfferedInvitation = Invitation & { readonly is_known: boolean };

/** How the mail with a link stands; `words` tell why it failed, and `none` that no mail can be sent here. */
export interface MailStanding {
  readonly state: 'none' | 'pending' | 'sent' | 'failed';
  readonly words: string | null;
}

/** One that was not accepted yet. */
export type OpenInvitation = Invitation & { readonly mail: MailStanding };

/** A place where one is signed in. */
export interface Session {
  readonly id: string;
  readonly present: boolean;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  readonly address: string;
  readonly user_agent: string;
}

/** An identity at a provider by which one signs in. */
export interface Identity {
  readonly id: string;
  readonly provider: string;
  readonly email: string | null;
  readonly created_at: string;
}

/** Somebody who belongs to an account. */
export interface Member {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly since: string;
}

/** Something that was done in an account. */
export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actor: string | null;
  readonly address: string | null;
  readonly action: string;
  readonly target_id: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export const getSignInOptions = (signal?: AbortSignal): Promise<SignInOptions> => api.get('/sign-in-options', { signal });
export const signIn = (body: { email: string; password: string }): Promise<void> => api.post('/session', { body });
export const signInByLink = (token: string): Promise<void> => api.post('/session/link', { body: { token } });
export const requestPasswordReset = (email: string): Promise<void> => api.post('/password-reset', { body: { email } });
export const resetPassword = (body: { token: string; new_password: string }): Promise<void> => api.post('/password-reset/finish', { body });
export const signUp = (body: { email: string; name: string; password: string; account_name: string }): Promise<{ account_id: string }> =>
  api.post('/sign-up', { body });

/** Where the identity provider's way begins; a browser goes there. `page` is where it comes back to, for example `/settings`. */
export const oidcUrl = (page: string): string => apiUrl('/oidc/start', { to: page.replace(/^\/+/, '') });

export const getInvitation = (token: string, signal?: AbortSignal): Promise<OfferedInvitation> =>
  api.post('/invitation', { body: { token }, signal });
export const acceptInvitation = (body: { token: string; name?: string; password?: string }): Promise<void> =>
  api.post('/invitation/accept', { body });

export const updateMe = (body: { name?: string; email?: string; current_password?: string }): Promise<Me['user']> =>
  api.patch('/me', { body });
export const putPassword = (body: { current_password?: string; new_password: string }): Promise<void> => api.put('/me/password', { body });
export const listSessions = (signal?: AbortSignal): Promise<{ data: readonly Session[] }> => api.get('/me/sessions', { signal });
export const endSession = (id: string): Promise<{ ended: number }> => api.delete(`/me/sessions/${id}`);
export const endOtherSessions = (): Promise<{ ended: number }> => api.delete('/me/sessions');
export const listIdentities = (signal?: AbortSignal): Promise<{ data: readonly Identity[] }> => api.get('/me/identities', { signal });
export const connectIdentity = (body: { current_password?: string }): Promise<{ location: string }> => api.post('/me/identities', { body });
export const disconnectIdentity = (id: string): Promise<void> => api.delete(`/me/identities/${id}`);

export const listMembers = (account: string, signal?: AbortSignal): Promise<{ data: readonly Member[] }> =>
  api.get(`/accounts/${account}/members`, { signal });
export const putMember = (account: string, user: string, role: Role): Promise<Member> =>
  api.put(`/accounts/${account}/members/${user}`, { body: { role } });
export const deleteMember = (account: string, user: string): Promise<void> => api.delete(`/accounts/${account}/members/${user}`);
export const listInvitations = (account: string, signal?: AbortSignal): Promise<{ data: readonly OpenInvitation[] }> =>
  api.get(`/accounts/${account}/invitations`, { signal });
export const invite = (account: string, body: { email: string; role: Role }): Promise<{ invitation: OpenInvitation; token: string }> =>
  api.post(`/accounts/${account}/invitations`, { body });
export const revokeInvitation = (account: string, id: string): Promise<void> => api.delete(`/accounts/${account}/invitations/${id}`);
export const listAuditEvents = (account: string, cursor: string, signal?: AbortSignal): Promise<Page<AuditEvent>> =>
  api.get(`/accounts/${account}/audit`, { query: { cursor }, signal });
