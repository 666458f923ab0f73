// Keeps a page open, even if the session ends, while it shows something that cannot be shown again and that the user has already seen.
import { createStore } from '../format/store.js';

const kept = createStore(0);

/** Keeps the page until the function that is returned is called. */
export function keepPage(): () => void {
  kept.set(kept.get() + 1);
  return () => kept.set(kept.get() - 1);
}

/** Whether something on the page must not be lost. */
export const useIsPageKept = (): boolean => kept.use() > 0;
