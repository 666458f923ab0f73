// A menu of actions behind a button. It is our own, because Base UI's menu is outside of every landmark, has hidden focusable elements next to it,
// and is as large as all pages that use it together.
import { MoreHorizontal } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { classNames } from './class-names.js';

/** An action of a menu. */
export interface MenuAction {
  readonly label: ReactNode;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  readonly disabled?: boolean;
}

/** A menu of these actions. `label` is the name of its button. */
export function ActionMenu({ label, actions }: { label: string; actions: readonly (MenuAction | false)[] }) {
  const id = useId();
  const trigger = useRef<HTMLButtonElement>(null);
  const [start, setStart] = useState<'first' | 'last'>();
  const isOpen = start !== undefined;

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    setStart(event.key === 'ArrowDown' ? 'first' : 'last');
  }

  return (
    <>
      <button
        ref={trigger}
        id={id}
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? `${id}-menu` : undefined}
        className="inline-flex size-10 items-center justify-center rounded-md hover:bg-hover aria-expanded:bg-hover"
        onClick={() => setStart(isOpen ? undefined : 'first')}
        onKeyDown={onKeyDown}
      >
        <MoreHorizontal size={18} aria-hidden />
      </button>
      {isOpen && (
        <Items
          id={id}
          trigger={trigger.current!}
          start={start}
          actions={actions.filter((action) => action !== false)}
          onClose={() => setStart(undefined)}
        />
      )}
    </>
  );
}

interface ItemsProps {
  readonly id: string;
  readonly trigger: HTMLElement;
  readonly start: 'first' | 'last';
  readonly actions: readonly MenuAction[];
  readonly onClose: () => void;
}

function Items({ id, trigger, start, actions, onClose }: ItemsProps) {
  const menu = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;

  useLayoutEffect(() => {
    const place = (): void => putBeside(menu.current!, trigger);
    place();
    addEventListener('resize', place);
    addEventListener('scroll', place, true);
    return () => {
      removeEventListener('resize', place);
      removeEventListener('scroll', place, true);
    };
  });

  useEffect(() => {
    const items = itemsOf(menu.current!);
    items.at(start === 'first' ? 0 : -1)?.focus({ preventScroll: true });
    const onPress = (event: PointerEvent): void => {
      if (![menu.current, trigger].some((each) => each?.contains(event.target as Node))) close.current();
    };
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, [start, trigger]);

  /** Returns the focus to the button, where keyboard users continue, and closes the menu. */
  function leave(): void {
    trigger.focus();
    onClose();
  }

  function onKeyDown(event: KeyboardEvent): void {
    // From the button, the browser moves on to the next element.
    if (event.key === 'Tab') return leave();
    const items = itemsOf(menu.current!);
    const index = items.indexOf(document.activeElement as HTMLElement);
    const to = event.key === 'Escape' ? trigger : aimOf(event.key, items, index);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === trigger) leave();
    else to.focus();
  }

  return createPortal(
    <div
      ref={menu}
      id={`${id}-menu`}
      role="menu"
      tabIndex={-1}
      aria-labelledby={id}
      className="pop fixed z-60 min-w-44 py-1 outline-none"
      onKeyDown={onKeyDown}
    >
      {actions.map((action, index) => (
        <button
          key={index}
          type="button"
          role="menuitem"
          tabIndex={-1}
          aria-disabled={action.disabled === true ? true : undefined}
          className={classNames(
            'flex min-h-10 w-full cursor-pointer items-center gap-2 px-3.5 text-left outline-none hover:bg-hover focus:bg-hover aria-disabled:opacity-60',
            action.danger === true && 'text-bad',
          )}
          onPointerMove={(event) => event.currentTarget.focus({ preventScroll: true })}
          onClick={() => {
            if (action.disabled === true) return;
            // Before the action, because it may open a dialog that later restores the focus.
            leave();
            action.onSelect();
          }}
        >
          {action.label}
        </button>
      ))}
    </div>,
    // In the main landmark of the page, but not in a box that would clip it.
    document.getElementById('content') ?? document.body,
  );
}

function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role="menuitem"]')];
}

/** Returns the item that a key moves to. */
function aimOf(key: string, items: readonly HTMLElement[], index: number): HTMLElement | undefined {
  if (key === 'ArrowDown') return items[(index + 1) % items.length];
  if (key === 'ArrowUp') return items.at(index <= 0 ? -1 : index - 1);
  if (key === 'Home') return items[0];
  if (key === 'End') return items.at(-1);
  if (key.length !== 1 || key === ' ') return undefined;
  return [...items.slice(index + 1), ...items.slice(0, index + 1)].find((item) =>
    item.textContent.toLowerCase().startsWith(key.toLowerCase()),
  );
}

const gap = 4;

/** Places the menu below the button, aligned with its end, or above it if there is no room, and always within the window. */
function putBeside(menu: HTMLElement, trigger: HTMLElement): void {
  const { top, bottom, right } = trigger.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const isAbove = bottom + gap + height > innerHeight && top - gap - height >= 0;
  menu.style.top = `${isAbove ? top - gap - height : Math.max(0, Math.min(bottom + gap, innerHeight - height))}px`;
  menu.style.left = `${Math.max(gap, right - width)}px`;
}
