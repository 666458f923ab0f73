// Authenticate: returns the key with this hash of its secret.
import { timingSafeEqual } from 'node:crypto';
import type { CallContext } from '#client/call-context.js';
import { fault } from '#client/errors/fault.js';
import type { AuthenticateRequest, AuthenticateResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { checkedSecretHash } from '../requests/fields.js';

/** Returns the key in any state, and its account's state. Raises invalid_request, and key_unknown when no key has this hash. */
export async function authenticate(request: AuthenticateRequest, _context: CallContext, deps: RpcDeps): Promise<AuthenticateResponse> {
  const secretHash = checkedSecretHash(request.secretHash);
  const match = await deps.keys.findBySecretHash(secretHash);
  // Engines compare index entries in different ways; this compares all 32 bytes, in constant time.
  if (match === undefined || !timingSafeEqual(match.secretHash, secretHash)) {
    throw fault('key_unknown', {});
  }
  return {
    key: match.key,
    accountState: match.accountState,
    accountStateReason: match.accountStateReason,
    accountRateLimits: match.accountRateLimits,
    budgets: [...match.key.budgets, ...match.project.budgets, ...match.accountBudgets],
    accountTimeZone: match.accountTimeZone,
    project: match.project,
    neverLogPrompts: match.neverLogPrompts,
    secretExpiresAtMs: match.secretExpiresAtMs,
  };
}
