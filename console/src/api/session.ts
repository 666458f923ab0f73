// Who is signed in.
import { api } from './client.js';

/** What a role allows in an account (gateway/console/access.ts). */
export type Permission = 'look' | 'change keys' | 'change money' | 'change members';

/** The roles, the most powerful first. */
export const roles = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** An account that one belongs to. */
export interface AccountOfMine {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly role: Role;
  readonly permissions: readonly Permission[];
}

/** Somebody who is signed in. */
export interface Me {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly is_operator: boolean;
    readonly has_password: boolean;
  };
  readonly session: { readonly id: string; readonly by_link: boolean; readonly expires_at: string };
  readonly accounts: readonly AccountOfMine[];
}

export const getMe = (signal?: AbortSignal): Promise<Me> => api.get<Me>('/me', { signal });
export const signOut = (): Promise<void> => api.delete('/session');
