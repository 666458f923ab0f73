// A choice that is stored in the browser, and that updates all components that use it.

/** A stored choice among a few values. */
export interface StoredChoice<T extends string> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

/** Creates a stored choice. `initial` is called while no valid value is stored. Not for secrets, because scripts can read it. */
export function storedChoice<T extends string>(name: string, values: readonly T[], initial: () => T): StoredChoice<T> {
  const listeners = new Set<() => void>();
  let value = read() ?? initial();

  function read(): T | undefined {
    try {
      const stored = localStorage.getItem(name);
      return values.find((each) => each === stored);
    } catch {
      return undefined;
    }
  }

  return {
    get: () => value,
    set(next) {
      value = next;
      try {
        localStorage.setItem(name, next);
      } catch {
        // Without storage, the choice lasts until the page is closed.
      }
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
