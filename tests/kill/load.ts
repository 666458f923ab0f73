// Callers that call again and again, whatever happens, until they are told to stop.
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

/** Each caller has a key of its own in turn, and its own row of random calls. */
export function startLoad(options: { baseUrl: string; secrets: readonly string[]; kinds: readonly CallKind[]; callers: number; random: Random }): Load {
  const { baseUrl, secrets, kinds, callers, random } = options;
  const outcomes: Outcome[] = [];
  let isOver = false;
  const caller = async (index: number, own: Random): Promise<void> => {
    while (!isOver) {
      const outcome = await makeCall(baseUrl, secrets[index % secrets.length]!, own.pick(kinds));
      outcomes.push(outcome);
      await sleep(own.integer(0, pauseMsMax) + (outcome.how === 'whole' ? 0 : pauseMsAfterFailure));
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
