// Claims the loopback ports that the processes will listen on.
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#client/errors/app-error.js';
import { listenAnywhere, listenOn } from './free-port.js';

// Processes of a killed launcher may still be shutting down.
const patienceMsDefault = 5000;

/**
 * Returns the wanted ports, with a free one in place of each 0. Raises failed_precondition if another process uses a port for longer
 * than `patienceMs`, because clients would mistake that process for ours.
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
        `Port ${port} cannot be used (${(error as Error).message}); choose another one with PORT or TOLLGATE_DISTRIBUTED_FIRST_PORT.`,
        { cause: error },
      );
    }
  }
}
