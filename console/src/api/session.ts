// The signed-in user.
import type { ProjectRole, Role } from '../../../gateway/console/schemas/members.js';
import type { AccountOfMine, Me, Permission } from '../../../gateway/console/schemas/profile.js';
import { api } from './client.js';

export type { AccountOfMine, Me, Permission, ProjectRole, Role };

/** The roles, the most powerful first. */
export const roles = ['owner', 'admin', 'developer', 'billing', 'viewer', 'member'] as const satisfies readonly Role[];

export const getMe = (signal?: AbortSignal): Promise<Me> => api.get<Me>('/me', { signal });
export const signOut = (): Promise<void> => api.delete('/session');
