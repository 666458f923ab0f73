// The loopback ports that the processes will listen on.
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#kit/errors/app-error.js';

// Processes of a launcher that was killed may still be ending.
const patienceMsDefault = 5000;

/**
 * The ports as they are wanted, with a free one in place of each 0. Raises failed_precondition for one that another process has
 * for longer than the patience: its answers would pass for ours.
 */
export async function claimPorts(wanted: readonly number[], patienceMs = patienceMsDefault): Promise<number[]> {
  const untilMs = Date.now() + patienceMs;
  const servers: Server[] = [];
  try {
    for (const port of wanted) servers.push(await listen(port, untilMs));
    return servers.map((server) => (server.address() as AddressInfo).port);
  } finally {
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  }
}

async function listen(port: number, untilMs: number): Promise<Server> {
  for (;;) {
    const server = createServer();
    const fault = await new Promise<Error | undefined>((done) => server.once('error', done).listen(port, '127.0.0.1', () => done(undefined)));
    if (fault === undefined) return server;
    if (Date.now() >= untilMs) {
      throw new AppError('failed_precondition', `Port ${port} cannot be used (${fault.message}); choose another by PORT or TOLLGATE_DISTRIBUTED_FIRST_PORT.`, { cause: fault });
    }
    await sleep(100);
  }
}
