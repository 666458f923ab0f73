// A value outside of components, which updates all that use it.
import { useSyncExternalStore } from 'react';

/** Holds a value. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  /** Calls the listener after every change. Returns a function that stops this. */
  subscribe(listener: () => void): () => void;
  /** Returns the value, in a component. */
  use(): T;
}

/** Creates a store. */
export function createStore<T>(value: T): Store<T> {
  const listeners = new Set<() => void>();
  const get = (): T => value;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get,
    set(next) {
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe,
    use: () => useSyncExternalStore(subscribe, get),
  };
}
