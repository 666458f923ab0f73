// The output of management keys.
import type { ManagementKey } from '#proto/auth/v1/users.js';
import { instant, instantJson, type View } from '../output.js';

/** A management key at this instant. The secret is not in it: only its last four characters are known. */
export function managementKeyView(nowMs: number): View<ManagementKey> {
  const state = ({ revokedAtMs, expiresAtMs, userLostAccess }: ManagementKey): string => {
    if (revokedAtMs !== undefined) return 'revoked';
    if (expiresAtMs !== undefined && expiresAtMs <= BigInt(nowMs)) return 'expired';
    return userLostAccess ? 'user lost access' : 'active';
  };
  const columns: View<ManagementKey>['columns'] = [
    { title: 'key', text: ({ id }) => id },
    { title: 'name', text: ({ name }) => name },
    { title: 'ends in', text: ({ lastFour }) => lastFour },
    { title: 'state', text: state },
    { title: 'scopes', text: ({ scopes }) => scopes.join(', ') },
    { title: 'user', text: ({ user }) => user!.email },
    { title: 'last used', text: ({ lastUsedAtMs }) => (lastUsedAtMs === undefined ? 'never' : instant(lastUsedAtMs)) },
    { title: 'expires', text: ({ expiresAtMs }) => (expiresAtMs === undefined ? 'never' : instant(expiresAtMs)) },
  ];
  return {
    json: (key) => ({
      id: key.id,
      account_id: key.accountId,
      name: key.name,
      last_four: key.lastFour,
      state: state(key).replaceAll(' ', '_'),
      scopes: key.scopes,
      project_id: key.projectId === '' ? null : key.projectId,
      user_id: key.user!.id,
      user_email: key.user!.email,
      allowed_addresses: key.allowedAddresses,
      expires_at: instantJson(key.expiresAtMs),
      created_at: instantJson(key.createdAtMs),
      revoked_at: instantJson(key.revokedAtMs),
      last_used_at: instantJson(key.lastUsedAtMs),
    }),
    columns,
    details: [
      ...columns,
      { title: 'account', text: ({ accountId }) => accountId },
      { title: 'project', text: ({ projectId }) => projectId || 'all' },
      { title: 'allowed addresses', text: ({ allowedAddresses }) => allowedAddresses.join(', ') || 'all' },
      { title: 'created', text: ({ createdAtMs }) => instant(createdAtMs) },
      { title: 'revoked', text: ({ revokedAtMs }) => instant(revokedAtMs) },
    ],
  };
}
