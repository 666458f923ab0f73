// Who is signed in.
import type { Role } from '../../../gateway/console/schemas/members.js';
import type { AccountOfMine, Me, Permission } from '../../../gateway/console/schemas/profile.js';
import { api } from './client.js';

export type { AccountOfMine, Me, Permission, Role };

/** The roles, the most powerful first. */
export const roles = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const satisfies readonly Role[];

export const getMe = (signal?: AbortSignal): Promise<Me> => api.get<Me>('/me', { signal });
export const signOut = (): Promise<void> => api.delete('/session');
