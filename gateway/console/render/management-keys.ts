// Management keys as JSON. Pure.
import type { ManagementKey as ManagementKeyMessage } from '#proto/auth/v1/users.js';
import type { Scope } from '#rules/access/scopes.js';
import type { ManagementKey } from '../schemas/management-keys.js';
import { instant, maybe, orNull } from './values.js';

/** Renders a management key. */
export function renderManagementKey(key: ManagementKeyMessage, nowMs: number): ManagementKey {
  const { id, email, name } = key.user!;
  return {
    id: key.id,
    name: key.name,
    last_four: key.lastFour,
    state: stateOf(key, nowMs),
    scopes: key.scopes as Scope[],
    project_id: orNull(key.projectId),
    user: { id, email, name },
    allowed_addresses: key.allowedAddresses,
    expires_at: maybe(key.expiresAtMs, instant),
    created_at: instant(key.createdAtMs),
    revoked_at: maybe(key.revokedAtMs, instant),
    last_used_at: maybe(key.lastUsedAtMs, instant),
  };
}

function stateOf({ revokedAtMs, expiresAtMs, userLostAccess }: ManagementKeyMessage, nowMs: number): ManagementKey['state'] {
  if (revokedAtMs !== undefined) return 'revoked';
  if (expiresAtMs !== undefined && expiresAtMs <= BigInt(nowMs)) return 'expired';
  return userLostAccess ? 'user_lost_access' : 'active';
}
