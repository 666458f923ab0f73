// A list of actions behind a button.
import { Menu as Base } from '@base-ui/react/menu';
import { MoreHorizontal } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.js';

/** One action. */
export interface MenuAction {
  readonly label: ReactNode;
  readonly onSelect: () => void;
  readonly danger?: boolean;
  readonly disabled?: boolean;
}

/** The actions; `label` names the button, which shows three dots unless `trigger` says otherwise. */
export function ActionMenu({ label, actions, trigger, triggerClassName }: { label: string; actions: readonly (MenuAction | false)[]; trigger?: ReactNode; triggerClassName?: string }) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger aria-label={label} className={triggerClassName ?? 'inline-flex size-10 items-center justify-center rounded-md hover:bg-hover data-popup-open:bg-hover'}>
        {trigger ?? <MoreHorizontal size={18} aria-hidden />}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="z-60 outline-none" align="end" sideOffset={4}>
          <Base.Popup className="pop min-w-44 py-1 outline-none">
            {actions.map(
              (action, index) =>
                action !== false && (
                  <Base.Item
                    key={index}
                    disabled={action.disabled}
                    onClick={action.onSelect}
                    className={classNames('flex min-h-10 cursor-pointer items-center gap-2 px-3.5 outline-none data-highlighted:bg-hover data-disabled:opacity-60', action.danger === true && 'text-bad')}
                  >
                    {action.label}
                  </Base.Item>
                ),
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
