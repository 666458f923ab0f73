// Second factors, and how users authenticate again.
import type {
  AddSecondFactor,
  ProveSecondFactor,
  Reauthenticate,
  RecoveryCodes,
  SecondFactor,
  SecondFactorAdded,
  SecondFactorRequired,
  SecondFactorBegun,
  SecondFactorChallenge,
  SecondFactors,
} from '../../../gateway/console/schemas/second-factor.js';
import { api } from './client.js';

export type { SecondFactor, SecondFactorBegun, SecondFactorChallenge, SecondFactors };

/** A challenge that the user must complete before the sign-in is finished; undefined when the user is signed in. */
export type SignInChallenge = SecondFactorRequired | undefined;
/** A proof without the token of its challenge. */
export type Proof = Omit<ProveSecondFactor, 'token'>;

export const finishSignIn = (body: ProveSecondFactor): Promise<void> => api.post('/session/second-factor', { body });
export const beginPasskeySignIn = (): Promise<SecondFactorRequired> => api.post('/session/passkey');

export const listSecondFactors = (signal?: AbortSignal): Promise<SecondFactors> => api.get('/me/second-factors', { signal });
export const beginSecondFactor = (kind: SecondFactor['kind']): Promise<SecondFactorBegun> =>
  api.post('/me/second-factors/begin', { body: { kind } });
export const addSecondFactor = (body: AddSecondFactor): Promise<SecondFactorAdded> => api.post('/me/second-factors', { body });
export const renameSecondFactor = (id: string, name: string): Promise<SecondFactor> =>
  api.patch(`/me/second-factors/${id}`, { body: { name } });
export const removeSecondFactor = (id: string): Promise<void> => api.delete(`/me/second-factors/${id}`);
export const createRecoveryCodes = (): Promise<RecoveryCodes> => api.post('/me/recovery-codes');
export const beginReauthentication = (): Promise<SecondFactorChallenge> => api.post('/me/reauthentication/begin');
export const beginReauthenticationByProvider = (page: string): Promise<{ location: string }> =>
  api.post('/me/reauthentication/oidc', { body: { to: page.replace(/^\/+/, '') } });
export const reauthenticate = (body: Reauthenticate): Promise<void> => api.post('/me/reauthentication', { body });
