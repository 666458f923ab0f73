// Waits for a database at the start of a process: the process may start while its database restarts, or before it.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log.js';
import { isConnectionLost, isLoginRefused } from './errors.js';

const unreachableMsMax = 60_000;
const reconnectMs = 250;

/**
 * Returns what `work` returns, and repeats it for a minute while the server cannot be reached; then raises the driver's error. It raises the
 * error of a refused login immediately. `work` must be repeatable.
 */
export async function whenReachable<T>(log: Pick<Logger, 'warn'> | undefined, work: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + unreachableMsMax;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionLost(error) || isLoginRefused(error) || performance.now() > endMs) throw error;
      if (isFirst) log?.warn({ err: error }, 'the database cannot be reached; waiting for it');
      await delay(reconnectMs);
    }
  }
}
