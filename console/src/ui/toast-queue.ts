// Queues confirmations until they are shown.

/** A confirmation. `undo` offers to undo the action. */
export interface Toast {
  readonly title: string;
  readonly undo: { readonly label: string; readonly onPress: () => void } | undefined;
}

const listeners = new Set<() => void>();
let queued: readonly Toast[] = [];
let isWanted = false;

/** Queues a toast. */
export function queueToast(toast: Toast): void {
  queued = [...queued, toast];
  isWanted = true;
  for (const listener of listeners) listener();
}

/** Reports whether there has been a toast. */
export const wereToasts = (): boolean => isWanted;

/** Calls `listener` whenever a toast is queued. Returns a function that stops this. */
export function followToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Removes and returns the queued toasts. */
export function takeToasts(): readonly Toast[] {
  const taken = queued;
  queued = [];
  return taken;
}
