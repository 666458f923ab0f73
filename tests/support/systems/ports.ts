// Free ports for the end-to-end tests.
import { randomInt } from 'node:crypto';
import { listenOn } from '../../../deploy/distributed/free-port.js';

// Suites that run at the same time choose from different ranges below the ephemeral ports. A process may start to listen long after its port was chosen.
const ranges = 7;
const rangeSize = 3200;
const rangeStart = 10_240 + ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % ranges) * rangeSize;
let next = randomInt(rangeSize);

/** Returns a TCP port of 127.0.0.1 that is free, and that no other suite is given. */
export const freePort = (): Promise<number> => freePorts(1);

/** Returns the first of `count` such ports in a row. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    if (next + count > rangeSize) next = 0;
    const first = rangeStart + next;
    next += count;
    const taken = await Promise.all(Array.from({ length: count }, (_, index) => isTaken(first + index)));
    if (!taken.includes(true)) return first;
  }
}

async function isTaken(port: number): Promise<boolean> {
  try {
    const server = await listenOn(port);
    await new Promise((done) => server.close(done));
    return false;
  } catch {
    return true;
  }
}
