// A choice that this browser remembers, and that all components that show it follow.

/** A remembered choice among a few. */
export interface StoredChoice<T extends string> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

/** `initial` is asked while nothing valid is remembered. Never for secrets: scripts can read it. */
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
        // A browser that keeps nothing has its choice until it leaves the page.
      }
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
