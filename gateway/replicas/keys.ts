// The local cache of authenticated keys, kept current by changes that auth pushes, so that admitting a call needs no RPC.
import type { AccountRateLimits, AccountState, AuthenticateResponse, Key, Project, WatchKeysResponse } from '#proto/auth/v1/auth.js';
import { type Budget, BudgetScope } from '#proto/budget/v1/budget.js';
import type { Clock } from '#kit/clock.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Logger } from '#kit/log.js';
import { counter } from '#kit/telemetry/metrics.js';
import { callContext } from '#client/call-context.js';
import { Outage } from '../call/recording/outage.js';
import type { GatewayPeers } from '../peers.js';
import { assertUsable, type ClientAddress } from './usable-key.js';
import { type FeedState, feedState, watch, type Watch } from '#kit/rpc/watch.js';
import { hashSecret, isWellFormedSecret } from '#rules/keys/key-secrets.js';

/** Lifetime of an entry while auth's changes arrive: bounds the memory of idle keys, not staleness. */
const liveMs = 300_000;
/** Lifetime of an entry while they do not: after two missed heartbeats, changes still take effect within about a second. */
const blindMs = 1000;
const lookups = counter({
  name: 'tollgate.keys.lookups',
  unit: '{lookup}',
  description: 'Lookups of platform keys in the local copy.',
  by: 'gateway',
  labels: { result: 'hit, miss (auth was queried) or unknown (a secret that auth has just refused)' },
});
const [hits, misses, knownUnknowns] = [lookups.of({ result: 'hit' }), lookups.of({ result: 'miss' }), lookups.of({ result: 'unknown' })];
/** How long an unknown secret is remembered. */
const unknownMs = 1000;
const unknownsMax = 10_000;
/** How often auth is tried again while known keys are served without it. */
const trialMs = 1000;

interface Entry {
  key: Key;
  accountState: AccountState;
  /** Why the account is suspended. */
  accountStateReason: string;
  accountRateLimits: AccountRateLimits | undefined;
  project: Project;
  budgets: readonly Budget[];
  accountTimeZone: string;
  neverLogPrompts: boolean;
  /** Set if the secret was replaced by a rotation: from this instant on it is refused. */
  secretExpiresAtMs: bigint | undefined;
  fetchedAtMs: number;
  /** Set once changes may have been missed: when the entry was last known to be current. Only auth can renew it. */
  outdatedSinceMs: number | undefined;
}

/** Refuses a key that exists. It says whose key it is, so that the account can see the refusal. */
export class UnusableKeyError extends AppError {
  constructor(
    readonly key: Key,
    { reason, message, details }: AppError,
  ) {
    super(reason, message, { details });
  }
}

/** A key that may be used, and the permissions, limits and budgets that it shares with other keys. */
interface UsableKey {
  readonly key: Key;
  readonly project: Project;
  readonly accountRateLimits: AccountRateLimits | undefined;
  /** The budgets of the key, its project and its account. */
  readonly budgets: readonly Budget[];
  /** The IANA time zone of the account's calendar budgets. */
  readonly accountTimeZone: string;
  /** Whether the account never logs prompts and answers. */
  readonly neverLogPrompts: boolean;
}

/** Looks up keys by their secret. */
export interface KeyReplica {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Reports whether pushed changes arrive. */
  isLive(): boolean;
  /** Reports whether keys can be authenticated: changes arrive, or known keys are still served without auth. */
  isUsable(): boolean;
  /** Returns the status of the pushed changes. */
  feed(): FeedState;
  /**
   * Returns the active key of a secret at this instant. Throws key_malformed, key_unknown, key_revoked, key_disabled,
   * key_expired, account_suspended or address_not_permitted, and service_unavailable if auth cannot be reached, unless the key is known and
   * still served without auth. If the key exists, the error is an UnusableKeyError.
   */
  authenticate(secret: string, client: ClientAddress): Promise<UsableKey>;
}

/**
 * Creates the cache, which holds at most `keysMax` keys. While auth is unavailable, a key is served for `withoutAuthMs` after it was last known to
 * be current; 0: for about a second.
 */
export function createKeyReplica(deps: {
  auth: Pick<GatewayPeers['auth'], 'authenticate' | 'watchKeys'>;
  clock: Clock;
  log: Logger;
  keysMax: number;
  withoutAuthMs: number;
  rpcTimeoutMs: number;
}): KeyReplica {
  const { auth, clock, log, keysMax, withoutAuthMs, rpcTimeoutMs } = deps;
  const entries = new Map<string, Entry>();
  // A rotated key has several secrets for a while.
  const hashesByKeyId = new Map<string, Set<string>>();
  const unknowns = new Map<string, number>();
  const fetching = new Map<string, Promise<Entry>>();
  // Counts pushed messages with changes: an answer fetched while one arrived may be older than the change and is not cached.
  let changesSeen = 0;
  let following: Watch | undefined;
  const meaning = withoutAuthMs === 0 ? 'calls are refused' : 'known keys are still served, and changes to keys have no effect';
  const outage = new Outage('auth', meaning, clock, log);
  let triedAtMs = Number.NEGATIVE_INFINITY;

  const lastMessageAtMs = (): number => clock.monotonicMs() - (following?.silentMs() ?? Number.POSITIVE_INFINITY);
  const currentAtMs = (entry: Entry): number => entry.outdatedSinceMs ?? Math.max(entry.fetchedAtMs, lastMessageAtMs());
  const isServedWithoutAuth = (entry: Entry): boolean => clock.monotonicMs() - currentAtMs(entry) < withoutAuthMs;

  function onMessage(message: WatchKeysResponse, isFirst: boolean): void {
    if (isFirst) {
      // Changes may have been missed while disconnected.
      changesSeen += 1;
      for (const [hash, entry] of entries) {
        if (isServedWithoutAuth(entry)) entry.outdatedSinceMs = currentAtMs(entry);
        else forget(hash, entry);
      }
    }
    for (const { changed } of message.changes) {
      changesSeen += 1;
      if (changed?.$case === 'key') {
        for (const hash of hashesByKeyId.get(changed.value.id) ?? []) take(hash, changed.value);
      } else if (changed?.$case === 'account') {
        for (const entry of entries.values()) {
          if (entry.key.accountId !== changed.value.id) continue;
          entry.accountState = changed.value.state;
          entry.accountStateReason = changed.value.stateReason;
          entry.accountRateLimits = changed.value.rateLimits;
          entry.accountTimeZone = changed.value.timeZone;
          entry.neverLogPrompts = changed.value.neverLogPrompts;
          replaceBudgets(entry, BudgetScope.BUDGET_SCOPE_ACCOUNT, changed.value.budgets);
        }
      } else if (changed?.$case === 'project') {
        for (const entry of entries.values()) {
          if (entry.project.id !== changed.value.id || entry.project.version >= changed.value.version) continue;
          entry.project = changed.value;
          replaceBudgets(entry, BudgetScope.BUDGET_SCOPE_PROJECT, changed.value.budgets);
        }
      }
    }
  }

  /** Applies a changed key to one of its secrets. Only auth knows which secrets remain valid after a rotation. */
  function take(hash: string, changed: Key): void {
    const entry = entries.get(hash)!;
    if (entry.key.version >= changed.version) return;
    // The settings of another project are not in the change.
    if (entry.key.secretVersion !== changed.secretVersion || entry.key.projectId !== changed.projectId) return forget(hash, entry);
    entry.key = changed;
    replaceBudgets(entry, BudgetScope.BUDGET_SCOPE_KEY, changed.budgets);
  }

  function forget(hash: string, { key }: Entry): void {
    entries.delete(hash);
    const hashes = hashesByKeyId.get(key.id);
    hashes?.delete(hash);
    if (hashes?.size === 0) hashesByKeyId.delete(key.id);
  }

  /** Adds the entry after all others, which are in the order in which they were fetched, and forgets those that no call can use any more. */
  function remember(hash: string, entry: Entry): void {
    entries.delete(hash);
    for (const [oldestHash, oldest] of entries) {
      const isOver = entry.fetchedAtMs - oldest.fetchedAtMs >= liveMs && !isServedWithoutAuth(oldest);
      if (!isOver && entries.size < keysMax) break;
      forget(oldestHash, oldest);
    }
    entries.set(hash, entry);
    const hashes = hashesByKeyId.get(entry.key.id);
    if (hashes === undefined) hashesByKeyId.set(entry.key.id, new Set([hash]));
    else hashes.add(hash);
  }

  async function fetch(hash: string, secretHash: Buffer, timeoutMs: number): Promise<Entry> {
    const seenBefore = changesSeen;
    let response: AuthenticateResponse;
    try {
      response = await auth.authenticate({ secretHash }, callContext({ caller: 'gateway', timeoutMs }));
    } catch (error) {
      if (hasReason(error, 'service_unavailable', 'deadline_exceeded')) {
        outage.began(error);
        throw new AppError('service_unavailable', 'Keys cannot be checked now, so no calls are admitted. Nothing was charged.', {
          cause: error,
        });
      }
      outage.ended();
      if (hasReason(error, 'key_unknown')) {
        const known = entries.get(hash);
        if (known !== undefined) forget(hash, known);
        if (unknowns.size >= unknownsMax) unknowns.clear();
        unknowns.set(hash, clock.monotonicMs());
      }
      throw error;
    }
    const entry: Entry = {
      key: response.key!,
      accountState: response.accountState,
      accountStateReason: response.accountStateReason,
      accountRateLimits: response.accountRateLimits,
      project: response.project!,
      budgets: response.budgets,
      accountTimeZone: response.accountTimeZone,
      neverLogPrompts: response.neverLogPrompts,
      secretExpiresAtMs: response.secretExpiresAtMs,
      fetchedAtMs: clock.monotonicMs(),
      outdatedSinceMs: undefined,
    };
    outage.ended();
    if (seenBefore === changesSeen) remember(hash, entry);
    return entry;
  }

  async function lookUp(secretHash: Buffer): Promise<Entry> {
    const hash = secretHash.toString('latin1');
    const nowMs = clock.monotonicMs();
    const cached = entries.get(hash);
    const freshMs = cached === undefined || cached.outdatedSinceMs !== undefined ? 0 : following?.isLive() === true ? liveMs : blindMs;
    if (cached !== undefined && nowMs - cached.fetchedAtMs < freshMs) {
      hits.add();
      return cached;
    }
    const unknownAtMs = unknowns.get(hash);
    if (unknownAtMs !== undefined && nowMs - unknownAtMs < unknownMs) {
      knownUnknowns.add();
      throw fault('key_unknown', {});
    }
    misses.add();
    if (cached === undefined || !isServedWithoutAuth(cached)) {
      return fetchOnce(hash, secretHash, rpcTimeoutMs).catch((error: unknown) => {
        if (hasReason(error, 'service_unavailable')) outage.count();
        throw error;
      });
    }
    try {
      if (!outage.isOn()) return await fetchOnce(hash, secretHash, Math.min(rpcTimeoutMs, trialMs));
    } catch (error) {
      if (!outage.isOn()) throw error;
    }
    if (clock.monotonicMs() - triedAtMs >= trialMs) {
      // The call does not wait for it: auth may hang.
      triedAtMs = clock.monotonicMs();
      fetchOnce(hash, secretHash, rpcTimeoutMs).catch(() => undefined);
    }
    outage.count();
    return cached;
  }

  /** Fetches the key, once for all calls that need it at the same time. */
  function fetchOnce(hash: string, secretHash: Buffer, timeoutMs: number): Promise<Entry> {
    let fetched = fetching.get(hash);
    if (fetched === undefined) {
      fetched = fetch(hash, secretHash, timeoutMs).finally(() => fetching.delete(hash));
      fetching.set(hash, fetched);
    }
    return fetched;
  }

  return {
    async start() {
      following = watch({
        caller: 'gateway',
        name: 'keys',
        open: (context) => auth.watchKeys({}, context),
        onMessage,
        heartbeatMsOf: (message) => message.heartbeatIntervalMs,
        clock,
        log,
      });
    },
    async stop() {
      await following?.stop();
    },
    isLive: () => following?.isLive() === true,
    isUsable: () => following?.isLive() === true || (entries.size > 0 && clock.monotonicMs() - lastMessageAtMs() < withoutAuthMs),
    feed: () => feedState(following),
    async authenticate(secret, client) {
      if (!isWellFormedSecret(secret, 'sk-tg-')) {
        if (secret.startsWith('mk-tg-')) throw fault('management_key_sent', {});
        if (secret.startsWith('sk-tg-')) throw fault('key_mistyped', {});
        throw new AppError(
          'key_malformed',
          'This is not a Tollgate platform key: it begins with "sk-tg-" and has 55 characters. Check that the whole key was copied.',
        );
      }
      const entry = await lookUp(hashSecret(secret));
      try {
        assertUsable(entry.key, client, entry, clock.nowMs());
      } catch (error) {
        throw error instanceof AppError ? new UnusableKeyError(entry.key, error) : error;
      }
      return entry;
    },
  };
}

function replaceBudgets(entry: Entry, of: BudgetScope, budgets: readonly Budget[]): void {
  entry.budgets = [...entry.budgets.filter(({ scope }) => scope !== of), ...budgets];
}
