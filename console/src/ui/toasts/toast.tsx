// Short confirmations at the edge of the page. The code that shows them is loaded with the first one.
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from 'react';
import { serverFile } from '../../session/server-file.js';
import { followToasts, queueToast, type Toast, wereToasts } from './toast-queue.js';

const Host = lazy(() => serverFile(() => import('./toast-host.js')));

/** Confirms an action. */
export function toast(title: string, undo?: Toast['undo']): void {
  queueToast({ title, undo });
}

/** Contains the toasts; used once for the whole console. */
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
