// Short confirmations at the edge of the page. What shows them is fetched with the first one: no page needs it before.
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from 'react';

/** A confirmation; `undo` offers a way back. */
export interface Toast {
  readonly title: string;
  readonly undo: { readonly label: string; readonly onPress: () => void } | undefined;
}

const Host = lazy(() => import('./toast-host.js'));
const listeners = new Set<() => void>();
let queued: readonly Toast[] = [];
let isWanted = false;

const follow = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Says that something was done. */
export function toast(title: string, undo?: Toast['undo']): void {
  queued = [...queued, { title, undo }];
  isWanted = true;
  for (const listener of listeners) listener();
}

/** Calls `listener` whenever a toast is queued. */
export const followToasts = follow;

/** Takes what is queued. */
export function takeToasts(): readonly Toast[] {
  const taken = queued;
  queued = [];
  return taken;
}

/** Holds the toasts; once, around the whole console. */
export function Toasts({ children }: { children: ReactNode }) {
  const hasAny = useSyncExternalStore(follow, () => isWanted);
  return (
    <>
      {children}
      {hasAny && (
        <Suspense>
          <Host />
        </Suspense>
      )}
    </>
  );
}
