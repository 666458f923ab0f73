// Confirmations that wait to be shown.

/** A confirmation; `undo` offers a way back. */
export interface Toast {
  readonly title: string;
  readonly undo: { readonly label: string; readonly onPress: () => void } | undefined;
}

const listeners = new Set<() => void>();
let queued: readonly Toast[] = [];
let isWanted = false;

/** Queues one. */
export function queueToast(toast: Toast): void {
  queued = [...queued, toast];
  isWanted = true;
  for (const listener of listeners) listener();
}

/** Whether there has been any. */
export const wereToasts = (): boolean => isWanted;

/** Calls `listener` whenever one is queued; the function that is returned ends that. */
export function followToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Takes what is queued. */
export function takeToasts(): readonly Toast[] {
  const taken = queued;
  queued = [];
  return taken;
}
