// Decides at random, from a seed, which process is killed or paused when. All processes have their turn.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mode } from '../support/systems/system.js';
import { type Faults, processNames, type Target } from './faults.js';
import type { Random } from './random.js';

/** The number of faults. */
export interface Amount {
  readonly kills: number;
  /** The number of pauses (SIGSTOP); in distributed mode there are also a third as many clean restarts of the database. */
  readonly stops: number;
}

// Pause after calls are answered again, so that the next fault happens at a random instant.
const pauseMs = { min: 0, max: 1000 };
const stopMs = { min: 300, max: 4500 };
const togetherMax = 3;

/** Injects all faults. Resolves when the system serves again after the last one. `untilServed` waits until calls are answered again. */
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
  // In distributed mode, occasionally everything at once, as in a power cut.
  if (mode === 'distributed') for (let index = 5; index < kills.length; index += 25) kills.splice(index, 0, 'all');
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
      // The whole system must not be killed while one of its processes is being waited for.
      if (target === 'all') await settle(underWay);
      // In single mode, an upstream is called while the hold of the call is still being synced.
      const isAtCall = mode === 'single' && random.happens(0.5);
      begin(underWay, isAtCall ? faults.killAtCall() : faults.kill(target));
      if (target === 'all') await settle(underWay);
      await sleep(random.integer(0, 400));
    }
    // Distributes the pauses over the kills.
    for (; restDone < rest.length && restDone / rest.length <= 1 - kills.length / rounds; restDone += 1) begin(underWay, rest[restDone]!());
    // Occasionally the next fault happens during the recovery from this one.
    if (mode === 'distributed' && random.happens(0.3)) continue;
    await settle(underWay);
    await untilServed();
  }
  await settle(underWay);
  await faults.untilServing();
}

function begin(underWay: Promise<void>[], fault: Promise<void>): void {
  // Its failure is reported where it is awaited.
  fault.catch(() => undefined);
  underWay.push(fault);
}

async function settle(underWay: Promise<void>[]): Promise<void> {
  await Promise.all(underWay.splice(0));
}

/** Returns `count` targets in random order, each about equally often. */
function deck(targets: readonly Target[], count: number, random: Random): Target[] {
  const cards: Target[] = [];
  while (cards.length < count) cards.push(...random.shuffle(targets));
  return cards.slice(0, count);
}
