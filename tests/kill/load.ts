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
  const caller = async (index: number, own: Random): Promise<void> => {
    while (!isOver) {
      const kind = own.pick(kinds);
      const key = own.happens(keyedShare) ? { idempotencyKey: randomUUID() } : {};
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
