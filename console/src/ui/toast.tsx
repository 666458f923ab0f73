// Short confirmations at the edge of the page. What shows them is fetched with the first one: no page needs it before.
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from 'react';
import { followToasts, queueToast, type Toast, wereToasts } from './toast-queue.js';

const Host = lazy(() => import('./toast-host.js'));

/** Says that something was done. */
export function toast(title: string, undo?: Toast['undo']): void {
  queueToast({ title, undo });
}

/** Holds the toasts; once, around the whole console. */
export function Toasts({ children }: { children: ReactNode }) {
  const hasAny = useSyncExternalStore(followToasts, wereToasts);
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
