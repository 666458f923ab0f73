// Files of the console that are loaded later: while the server cannot be reached, they are waited for, like data.
import { gatewayUrl } from '../base.js';
import { createStore } from '../format/store.js';

const tryAgainMs = 1500;

const waiting = createStore(0);

/** Whether the page waits for a file because the server cannot be reached. */
export const useIsWaitingForFile = (): boolean => waiting.use() > 0;

/** Loads a file, for `lazy`. Rejects only if the server can be reached and does not have the file, for example after an upgrade. */
export async function serverFile<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await isReachable()) throw error;
  }
  waiting.set(waiting.get() + 1);
  try {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, tryAgainMs));
      if (await isReachable()) return await load();
    }
  } finally {
    waiting.set(waiting.get() - 1);
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(new URL('livez', gatewayUrl), { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
