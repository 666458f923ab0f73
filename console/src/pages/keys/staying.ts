// Keeps the page from being left by accident: by closing or reloading it, and by going back.
import { useEffect } from 'react';

export function useStaying(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return undefined;
    const askFirst = (event: BeforeUnloadEvent): void => event.preventDefault();
    // Going back within the console unloads nothing, so that no browser asks. One entry of the history is put on top, and put on
    // again whenever it is taken away.
    const putOnTop = (): void => window.history.pushState(window.history.state, '', window.location.href);
    putOnTop();
    window.addEventListener('beforeunload', askFirst);
    window.addEventListener('popstate', putOnTop);
    return () => {
      window.removeEventListener('beforeunload', askFirst);
      window.removeEventListener('popstate', putOnTop);
    };
  }, [isNeeded]);
}
