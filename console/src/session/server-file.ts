// Files of the console that are loaded later: while the server cannot be reached, they are waited for, like data.
import { useSyncExternalStore } from 'react';
import { gatewayUrl } from '../base.js';

const tryAgainMs = 1500;

let waiting = 0;
const followers = new Set<() => void>();

function count(change: number): void {
  waiting += change;
  for (const follower of followers) follower();
}

/** Whether the page waits for a file because the server cannot be reached. */
export function useIsWaitingForFile(): boolean {
  return useSyncExternalStore(
    (follower) => {
      followers.add(follower);
      return () => followers.delete(follower);
    },
    () => waiting > 0,
  );
}

/** Loads a file, for `lazy`. Rejects only if the server can be reached and does not have the file, for example after an upgrade. */
export async function serverFile<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await isReachable()) throw error;
  }
  count(1);
  try {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, tryAgainMs));
      if (await isReachable()) return await load();
    }
  } finally {
    count(-1);
  }
}

async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(new URL('livez', gatewayUrl), { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
