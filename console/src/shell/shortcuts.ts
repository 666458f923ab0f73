// Keyboard shortcuts: Ctrl+K or ⌘K opens the palette; `g` and a letter opens a page, `/` searches in the page, and `?` lists the shortcuts,
// except while the user types in a field.
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { modalDialog } from '../ui/layout.js';
import type { NavigationItem } from './navigation.js';

/** The shortcut that opens the palette on this machine. */
export const paletteKeys = /Mac|iP(hone|ad|od)/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';

/** Listens for the shortcuts of these pages. */
export function useShortcuts(items: readonly NavigationItem[], show: (dialog: 'shortcuts' | 'palette') => void): void {
  const [, go] = useLocation();
  const isAfterG = useRef(false);

  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        event.preventDefault();
        // An open dialog may have unsaved input.
        if (document.querySelector(modalDialog) === null) show('palette');
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const target = isAfterG.current ? items.find(({ shortcut }) => shortcut === event.key) : undefined;
      isAfterG.current = event.key === 'g';
      if (target !== undefined) {
        event.preventDefault();
        if (target.outside === true) location.assign(target.to);
        else go(target.to);
      } else if (event.key === '?') show('shortcuts');
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('main input[type="search"]');
        if (field !== null) {
          event.preventDefault();
          field.focus();
        }
      }
    }
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [items, go, show]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest(`input, textarea, select, [contenteditable], ${modalDialog}, [role=menu]`) !== null;
}
