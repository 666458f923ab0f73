// Callers that make calls continuously, despite errors, until they are stopped.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallKind } from './call-kinds.js';
import { makeCall, type Outcome } from './outcome.js';
import { type Random, seeded } from './random.js';

/** A running load. */
export interface Load {
  /** Every call that has ended. */
  readonly outcomes: readonly Outcome[];
  /** Starts no more calls and waits for those in flight. */
  stop(): Promise<void>;
}

const pauseMsMax = 150;
const pauseMsAfterFailure = 150;
/** The share of calls with an Idempotency-Key, which are retried until they return a full answer. */
const keyedShare = 0.4;
const attemptsMax = 8;
/** The share of the other calls that are made as by the official client libraries: with a time limit, and retries that join the call. */
const retriedShare = 0.3;
const retriesMax = 3;
const patienceMsMax = 600;

/** Starts the callers. They use the keys in turn, and each makes its own sequence of random calls. */
export function startLoad(options: {
  baseUrl: string;
  secrets: readonly string[];
  kinds: readonly CallKind[];
  callers: number;
  random: Random;
}): Load {
  const { baseUrl, secrets, kinds, callers, random } = options;
  const outcomes: Outcome[] = [];
  let isOver = false;
  /** Makes a call as a client library with a short time limit, which sends it again with the same body; the last attempt has no limit. */
  const retry = async (kind: CallKind, secret: string, own: Random): Promise<void> => {
    for (let retryCount = 0; retryCount <= retriesMax; retryCount += 1) {
      const limit = retryCount === retriesMax ? {} : { patienceMs: own.integer(1, patienceMsMax) };
      const outcome = await makeCall(baseUrl, secret, kind, { retryCount, ...limit, readsToEnd: true });
      outcomes.push(outcome);
      // Libraries also repeat after failed connections and server errors.
      if (outcome.how === 'whole' || outcome.how === 'errored' || outcome.deltas > 0 || isOver) return;
      await sleep(own.integer(375, 500) * 2 ** retryCount);
    }
  };
  const caller = async (index: number, own: Random): Promise<void> => {
    while (!isOver) {
      const kind = own.pick(kinds);
      const key = own.happens(keyedShare) ? { idempotencyKey: randomUUID() } : {};
      if (key.idempotencyKey === undefined && own.happens(retriedShare)) {
        await retry(kind, secrets[index % secrets.length]!, own);
        continue;
      }
      for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
        const outcome = await makeCall(baseUrl, secrets[index % secrets.length]!, kind, { ...key, readsToEnd: attempt > 1 });
        outcomes.push(outcome);
        await sleep(own.integer(0, pauseMsMax) + (outcome.how === 'whole' ? 0 : pauseMsAfterFailure * attempt));
        // A call without an idempotency key is not retried, because the retry would be charged; a replayed answer does not change.
        if (outcome.how === 'whole' || outcome.originalRequestId !== undefined || key.idempotencyKey === undefined || isOver) break;
      }
    }
  };
  const all = Array.from({ length: callers }, (_, index) => caller(index, seeded(random.integer(0, 2 ** 31))));
  return {
    outcomes,
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}
