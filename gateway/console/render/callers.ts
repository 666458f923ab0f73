// Callers as JSON. Pure.
import type { Caller as CallerMessage } from '#proto/auth/v1/callers.js';
import type { Caller } from '../schemas/operator/callers.js';
import { instant } from './values.js';

/** Renders a caller for operators. */
export function renderCaller(caller: CallerMessage): Caller {
  const { name, identity, grants, accountLimit, certificates, createdAtMs, revokedAtMs, lastSeenAtMs } = caller;
  const optional = (ms: bigint | undefined): string | null => (ms === undefined ? null : instant(ms));
  return {
    name,
    identity,
    grants: [...grants],
    account_ids: accountLimit === undefined ? null : [...accountLimit.accountIds],
    created_at: instant(createdAtMs),
    revoked_at: optional(revokedAtMs),
    last_seen_at: optional(lastSeenAtMs),
    certificate_expires_at: optional(certificates[0]?.expiresAtMs),
  };
}
