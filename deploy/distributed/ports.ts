// The loopback ports that the processes will listen on.
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#client/errors/app-error.js';
import { listenAnywhere, listenOn } from './free-port.js';

// Processes of a launcher that was killed may still be ending.
const patienceMsDefault = 5000;

/**
 * The ports as they are wanted, with a free one in place of each 0. Raises failed_precondition for one that another process has
 * for longer than the patience: its answers would pass for ours.
 */
export async function claimPorts(wanted: readonly number[], patienceMs = patienceMsDefault): Promise<number[]> {
  const untilMs = Date.now() + patienceMs;
  const claimed: { port: number; server: Server }[] = [];
  try {
    for (const port of wanted) claimed.push(port === 0 ? await listenAnywhere() : { port, server: await listen(port, untilMs) });
    return claimed.map(({ port }) => port);
  } finally {
    await Promise.all(claimed.map(({ server }) => new Promise((done) => server.close(done))));
  }
}

async function listen(port: number, untilMs: number): Promise<Server> {
  for (; ; await sleep(100)) {
    try {
      return await listenOn(port);
    } catch (error) {
      if (Date.now() < untilMs) continue;
      throw new AppError(
        'failed_precondition',
        `Port ${port} cannot be used (${(error as Error).message}); choose another by PORT or TOLLGATE_DISTRIBUTED_FIRST_PORT.`,
        { cause: error },
      );
    }
  }
}
