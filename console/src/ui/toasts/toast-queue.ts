// Queues confirmations until they are shown.
import { createStore } from '../../format/store.js';

/** A confirmation. `undo` offers to undo the action. */
export interface Toast {
  readonly title: string;
  readonly undo: { readonly label: string; readonly onPress: () => void } | undefined;
}

const queue = createStore<readonly Toast[]>([]);
let isWanted = false;

/** Queues a toast. */
export function queueToast(toast: Toast): void {
  isWanted = true;
  queue.set([...queue.get(), toast]);
}

/** Reports whether there has been a toast. */
export const wereToasts = (): boolean => isWanted;

/** Calls `listener` whenever the queue changes. Returns a function that stops this. */
export const followToasts = queue.subscribe;

/** Removes and returns the queued toasts. */
export function takeToasts(): readonly Toast[] {
  const taken = queue.get();
  if (taken.length > 0) queue.set([]);
  return taken;
}
