// Ends holds whose expiry has passed. Safe with any number of replicas: each hold is looked at again under its account's lock.
import { hasReason } from '#kit/errors/app-error.js';
import type { RpcDeps } from './deps.js';
import type { ExpireOperation, HoldRecord } from './model.js';
import { performAll } from './perform.js';

/**
 * Ends at most `limit` holds, the longest expired first, in one transaction for each account, so that an account that cannot be
 * written delays no other. Returns those that this call ended. Raises what the store raises for every account alike.
 */
export async function expireHolds(limit: number, deps: RpcDeps): Promise<HoldRecord[]> {
  const expiredAtMs = deps.clock.nowMs() - deps.config.clockSkewMs;
  const byAccount = new Map<string, ExpireOperation[]>();
  for (const name of await deps.reads.expiredHolds(expiredAtMs, limit)) {
    const operations = byAccount.get(name.accountId) ?? [];
    operations.push({ kind: 'expire', ...name, expiredAtMs });
    byAccount.set(name.accountId, operations);
  }
  const expired: HoldRecord[] = [];
  for (const [accountId, operations] of byAccount) {
    try {
      for (const outcome of await performAll(operations, deps)) {
        if (outcome.refusal === undefined && outcome.reply.hold !== undefined) expired.push(outcome.reply.hold);
      }
    } catch (error) {
      if (hasReason(error, 'service_unavailable', 'overloaded')) throw error;
      deps.log.error({ err: error, account_id: accountId }, 'the expired holds of an account could not be ended');
    }
  }
  return expired;
}
