// The output of callers.
import type { Caller } from '#proto/auth/v1/callers.js';
import { instant, instantJson, type View } from '../output.js';

const accountsOf = ({ accountLimit }: Caller): string => (accountLimit === undefined ? 'all' : accountLimit.accountIds.join(', '));

/** Returns when its certificate expires; undefined when another PKI issues it. */
const expiryOf = ({ certificates }: Caller): bigint | undefined => certificates[0]?.expiresAtMs;

/** A caller. */
export const callerView: View<Caller> = {
  json: (caller) => ({
    name: caller.name,
    identity: caller.identity,
    grants: caller.grants,
    account_ids: caller.accountLimit?.accountIds ?? null,
    created_at: instantJson(caller.createdAtMs),
    rotated_at: instantJson(caller.rotatedAtMs),
    revoked_at: instantJson(caller.revokedAtMs),
    last_seen_at: instantJson(caller.lastSeenAtMs),
    certificate_expires_at: instantJson(expiryOf(caller)),
  }),
  columns: [
    { title: 'caller', text: ({ name }) => name },
    { title: 'grants', text: ({ grants }) => grants.join(', ') },
    { title: 'accounts', text: accountsOf },
    { title: 'last seen', text: ({ lastSeenAtMs }) => instant(lastSeenAtMs) || 'never' },
    { title: 'state', text: ({ revokedAtMs }) => (revokedAtMs === undefined ? 'active' : 'revoked') },
  ],
  details: [
    { title: 'caller', text: ({ name }) => name },
    { title: 'identity', text: ({ identity }) => identity },
    { title: 'grants', text: ({ grants }) => grants.join(', ') },
    { title: 'accounts', text: accountsOf },
    { title: 'certificate expires', text: (caller) => instant(expiryOf(caller)) },
    { title: 'created', text: ({ createdAtMs }) => instant(createdAtMs) },
    { title: 'rotated', text: ({ rotatedAtMs }) => instant(rotatedAtMs) },
    { title: 'revoked', text: ({ revokedAtMs }) => instant(revokedAtMs) },
    { title: 'last seen', text: ({ lastSeenAtMs }) => instant(lastSeenAtMs) },
  ],
};
