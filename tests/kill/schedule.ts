// When what is killed and stopped: at random, from a seed, with every process in its turn.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mode } from '../support/system.js';
import { type Faults, processNames, type Target } from './faults.js';
import type { Random } from './random.js';

/** How much is done. */
export interface Amount {
  readonly kills: number;
  /** Stops for a while (SIGSTOP), and in the distributed mode as many clean restarts of the database as a third of them. */
  readonly stops: number;
}

// After calls have been answered again, so that the instant of the next fault is any.
const pauseMs = { min: 0, max: 1000 };
const stopMs = { min: 300, max: 4500 };
const togetherMax = 3;

/** Does all faults; resolves when the system has served again after the last. `untilServed` waits until calls were answered again. */
export async function runSchedule(
  mode: Mode,
  faults: Faults,
  amount: Amount,
  untilServed: () => Promise<void>,
  random: Random,
): Promise<void> {
  const targets: readonly Target[] = mode === 'single' ? ['all'] : processNames;
  const kills = deck(targets, amount.kills, random);
  const stops = deck(targets, amount.stops, random);
  // Of the distributed mode now and then everything at once, as in a power cut.
  if (mode === 'distributed') for (let index = 10; index < kills.length; index += 25) kills[index] = 'all';
  const restarts = mode === 'distributed' ? Math.ceil(amount.stops / 3) : 0;
  const rest = random.shuffle<() => Promise<void>>([
    ...stops.map((target) => () => faults.stop(target, random.integer(stopMs.min, stopMs.max))),
    ...Array.from({ length: restarts }, () => () => faults.restartDatabase()),
  ]);
  const rounds = kills.length;
  let restDone = 0;
  const underWay: Promise<void>[] = [];
  while (kills.length > 0) {
    await sleep(random.integer(pauseMs.min, pauseMs.max));
    const together = random.happens(0.3) ? random.integer(2, togetherMax) : 1;
    for (const target of kills.splice(0, together)) {
      // All of it cannot be killed while parts of it are waited for.
      if (target === 'all') await settle(underWay);
      begin(underWay, faults.kill(target));
      if (target === 'all') await settle(underWay);
      await sleep(random.integer(0, 400));
    }
    // Spread over the kills.
    for (; restDone < rest.length && restDone / rest.length <= 1 - kills.length / rounds; restDone += 1) begin(underWay, rest[restDone]!());
    // Now and then the next comes while this one is still being recovered from.
    if (mode === 'distributed' && random.happens(0.3)) continue;
    await settle(underWay);
    await untilServed();
  }
  await settle(underWay);
  await faults.untilServing();
}

function begin(underWay: Promise<void>[], fault: Promise<void>): void {
  // Its failure is seen where it is waited for.
  fault.catch(() => undefined);
  underWay.push(fault);
}

async function settle(underWay: Promise<void>[]): Promise<void> {
  await Promise.all(underWay.splice(0));
}

/** So many targets, each about as often as the others, in random order. */
function deck(targets: readonly Target[], count: number, random: Random): Target[] {
  const cards: Target[] = [];
  while (cards.length < count) cards.push(...random.shuffle(targets));
  return cards.slice(0, count);
}
