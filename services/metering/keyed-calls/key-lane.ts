// Decides which call gets an idempotency key: concurrent ReserveIdempotencyKey calls share a transaction, in which each sees the effects of those before it.
import { BatchLane } from '#kit/scheduling/batch-lane.js';
import type { Clock } from '#kit/clock.js';
import { isDatabaseUnavailable } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import { AppError } from '#client/errors/app-error.js';
import type { MeteringConfig } from '../config.js';
import type { LeaseGrace } from '../leases/lease-grace.js';
import { isRunning } from '../store/keyed-calls/expired-keys.js';
import { deleteKey, insertKeptKeys, insertKey, type KeyRow, KeyState, lockKey } from '../store/keyed-calls/keyed-calls.js';
import { rowBytes } from '../store/keyed-calls/stored-answers.js';
import { AnswerQuota } from './answer-quota.js';

const keysPerTransactionMax = 50;
const queueMax = 10_000;

/** A call that requests a key. */
export interface KeyRequest extends Pick<KeyRow, 'accountId' | 'keyHash' | 'fingerprint' | 'callId'> {
  /** For a call that is offered to a retry: it replaces one that has ended. */
  readonly offer?: {
    readonly keptMs: number;
    /** Empty while the call runs. */
    readonly answer: Buffer;
  };
}

/** The outcome of a request: the key, or what prevents its reservation. */
export type KeyOutcome =
  | { readonly kind: 'begun'; readonly isAwaited: boolean }
  | { readonly kind: 'full'; readonly error: AppError }
  | { readonly kind: 'taken'; readonly by: KeyRow };

/** A lane that reserves keys durably; see `BatchLane`. The driver's duplicate error means that another replica was faster: retry. */
export type KeyLane = BatchLane<KeyRequest, KeyOutcome>;

/** Creates the lane of this replica. */
export function createKeyLane(deps: { config: MeteringConfig; db: Database; clock: Clock; grace: LeaseGrace }): KeyLane {
  const { config, db, clock, grace } = deps;
  const quota = new AnswerQuota(deps);

  async function begin(tx: PlainTransaction, request: KeyRequest, nowMs: number): Promise<KeyOutcome> {
    const { accountId, keyHash, callId, offer, ...rest } = request;
    const key = await lockKey(tx, accountId, keyHash);
    if (key !== undefined) {
      // The same request is repeated because its response was lost.
      if (key.callId.equals(callId)) return { kind: 'begun', isAwaited: key.awaitedUntilMs > nowMs };
      const isReplaced = offer !== undefined && key.state !== KeyState.running;
      if (!isReplaced && (await isTaken(tx, key, nowMs))) return { kind: 'taken', by: key };
    }
    // Replacing a key frees its space.
    const full = await quota.exceeded(tx, accountId, 1 - (key?.keptBytes ?? 0));
    if (full !== undefined) return { kind: 'full', error: quotaExceeded(full === 'account' ? 'Your account' : 'This gateway') };
    // From here on the call that had the key can be neither checkpointed nor recorded, so this call must be able to have it.
    if (key !== undefined) await deleteKey(tx, key);
    const keptMs = offer?.keptMs ?? config.keptAnswerTtlMs;
    const hasEnded = offer !== undefined && offer.answer.length > 0;
    const row: KeyRow = {
      ...rest,
      accountId,
      keyHash,
      callId,
      state: KeyState.running,
      leaseUntilMs: nowMs + config.leaseMs,
      // Long enough for a report that waits in a gateway's spool until metering is available again: it needs its key.
      expiresAtMs: nowMs + (hasEnded ? keptMs : config.keptAnswerTtlMs),
      keptBytes: 0,
      keptMs,
      awaitedUntilMs: 0,
    };
    if (!hasEnded) await insertKey(tx, row);
    else {
      const { answer } = offer;
      await insertKeptKeys(tx, accountId, [{ key: { ...row, state: KeyState.kept, keptBytes: rowBytes + answer.length }, answer }]);
    }
    return { kind: 'begun', isAwaited: false };
  }

  async function isTaken(tx: PlainTransaction, key: KeyRow, nowMs: number): Promise<boolean> {
    if (key.state !== KeyState.running) return key.expiresAtMs > nowMs;
    return isRunning(tx, key, nowMs, grace.isOn());
  }

  async function beginAll(tx: PlainTransaction, requests: readonly KeyRequest[]): Promise<KeyOutcome[]> {
    const nowMs = clock.nowMs();
    const outcomes: KeyOutcome[] = [];
    // In key order, so that two replicas cannot deadlock.
    const order = [...requests.keys()].toSorted((a, b) => compare(requests[a]!, requests[b]!) || a - b);
    for (const index of order) outcomes[index] = await begin(tx, requests[index]!, nowMs);
    return outcomes;
  }

  return new BatchLane({
    name: 'idempotency keys',
    async apply(requests) {
      try {
        return await db.plainTransaction((tx) => beginAll(tx, requests));
      } catch (error) {
        if (isDatabaseUnavailable(error)) grace.begin();
        throw error;
      }
    },
    turn: (waiting) => db.turn(waiting),
    isOfOneItem: (error) => !isDatabaseUnavailable(error),
    batchMax: keysPerTransactionMax,
    queueMax,
  });
}

function compare(a: KeyRequest, b: KeyRequest): number {
  return a.accountId.compare(b.accountId) || a.keyHash.compare(b.keyHash);
}

function quotaExceeded(owner: string): AppError {
  return new AppError(
    'overloaded',
    `${owner} cannot store more answers. Try again when some have expired, or send the call without the header.`,
    {
      details: { field: 'idempotency-key' },
      retryAfterMs: 60_000,
    },
  );
}
