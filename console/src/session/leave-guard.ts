// Keeps the page from being left by accident: by closing or reloading it, by going back, and by the end of the session.
import { useEffect } from 'react';
import { keepPage } from './kept-page.js';

const mark = 'tollgateLeaveGuard';

/** While `isNeeded` is set, the browser asks before it unloads the page, and the back button has no effect. */
export function useLeaveGuard(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return undefined;
    const confirmUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    // Going back within the console unloads nothing, so the browser does not ask. An extra history entry is added, and added again whenever it is removed.
    const putOnTop = (): void => {
      if (!isOnTop()) window.history.pushState({ [mark]: true }, '', window.location.href);
    };
    putOnTop();
    const release = keepPage();
    window.addEventListener('beforeunload', confirmUnload);
    window.addEventListener('popstate', putOnTop);
    return () => {
      release();
      window.removeEventListener('beforeunload', confirmUnload);
      window.removeEventListener('popstate', putOnTop);
      // Or the next press of the browser's button would seem to do nothing.
      if (isOnTop()) window.history.back();
    };
  }, [isNeeded]);
}

function isOnTop(): boolean {
  return (window.history.state as Record<string, unknown> | null)?.[mark] === true;
}
