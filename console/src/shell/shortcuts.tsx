// `g` and a letter goes to a page, `/` searches in it, `?` lists what there is. Never while something is typed.
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { Dialog } from '../ui/dialog.js';
import { Facts } from '../ui/layout.js';
import type { NavigationItem } from './navigation.js';

export function Shortcuts({ items }: { items: readonly NavigationItem[] }) {
  const t = useText(shellText);
  const [isOpen, setOpen] = useState(false);
  const [, go] = useLocation();
  const isAfterG = useRef(false);

  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const target = isAfterG.current ? items.find(({ shortcut }) => shortcut === event.key) : undefined;
      isAfterG.current = event.key === 'g';
      if (target !== undefined) {
        event.preventDefault();
        if (target.outside === true) location.assign(target.to);
        else go(target.to);
      } else if (event.key === '?') setOpen(true);
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
  }, [items, go]);

  return (
    <Dialog open={isOpen} onClose={() => setOpen(false)} title={t.shortcuts}>
      <Facts
        facts={[
          ...items.flatMap((item) => (item.shortcut === undefined ? [] : [[<kbd key={item.to}>{`g ${item.shortcut}`}</kbd>, t.shortcutGo({ page: t[item.text] as string })] as const])),
          [<kbd key="/">/</kbd>, t.shortcutSearch],
          [<kbd key="?">?</kbd>, t.shortcutHelp],
        ]}
      />
    </Dialog>
  );
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest('input, textarea, select, [contenteditable], [role="dialog"], [role="menu"]') !== null;
}
