// A choice that is stored in the browser, and that updates all components that use it.
import { createStore, type Store } from './store.js';

/** Creates a stored choice among a few values. `initial` is called while no valid value is stored. Not for secrets, because scripts can read it. */
export function storedChoice<T extends string>(name: string, values: readonly T[], initial: () => T): Store<T> {
  const store = createStore(read() ?? initial());

  function read(): T | undefined {
    try {
      const stored = localStorage.getItem(name);
      return values.find((each) => each === stored);
    } catch {
      return undefined;
    }
  }

  return {
    ...store,
    set(next) {
      try {
        localStorage.setItem(name, next);
      } catch {
        // Without storage, the choice lasts until the page is closed.
      }
      store.set(next);
    },
  };
}
