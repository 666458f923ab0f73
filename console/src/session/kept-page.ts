// Keeps a page that shows what cannot be shown again, even if the session ends in the meantime: the user has already seen it.
import { createStore } from '../format/store.js';

const kept = createStore(0);

/** Keeps the page until the function that is returned is called. */
export function keepPage(): () => void {
  kept.set(kept.get() + 1);
  return () => kept.set(kept.get() - 1);
}

/** Whether something on the page must not be lost. */
export const useIsPageKept = (): boolean => kept.use() > 0;
