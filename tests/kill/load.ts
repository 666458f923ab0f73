// Callers that call again and again, whatever happens, until they are told to stop.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallKind } from './call-kinds.js';
import { makeCall, type Outcome } from './outcome.js';
import { type Random, seeded } from './random.js';

/** Load that runs. */
export interface Load {
  /** Every call that has ended. */
  readonly outcomes: readonly Outcome[];
  /** Begins no more calls and waits for those under way. */
  stop(): Promise<void>;
}

const pauseMsMax = 150;
const pauseMsAfterFailure = 150;
/** How many of the calls have an Idempotency-Key, under which they are made again until an answer is whole. */
const keyedShare = 0.4;
const attemptsMax = 8;

/** Each caller has a key of its own in turn, and its own row of random calls. */
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
        const outcome = await makeCall(baseUrl, secrets[index % secrets.length]!, kind, { ...key, stays: attempt > 1 });
        outcomes.push(outcome);
        await sleep(own.integer(0, pauseMsMax) + (outcome.how === 'whole' ? 0 : pauseMsAfterFailure * attempt));
        // Without a key nobody can say what asking again would cost; and an answer that was given again stays as it is.
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
