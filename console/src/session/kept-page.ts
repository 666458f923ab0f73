// Keeps a page that shows what cannot be shown again, even if the session ends in the meantime: the user has already seen it.
import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
let kept = 0;

function change(by: 1 | -1): void {
  kept += by;
  for (const listener of listeners) listener();
}

/** Keeps the page until the function that is returned is called. */
export function keepPage(): () => void {
  change(1);
  return () => change(-1);
}

/** Whether something on the page must not be lost. */
export function useIsPageKept(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => kept > 0,
  );
}
