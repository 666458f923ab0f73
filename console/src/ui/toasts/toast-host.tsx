// Shows toasts, and lets screen readers announce them politely.
import { Toast as Base } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { useEffect } from 'react';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { buttonClass } from '../button.js';
import { followToasts, takeToasts } from './toast-queue.js';

const manager = Base.createToastManager();

export default function ToastHost() {
  useEffect(() => {
    // Shows what is queued, including toasts from before this listener existed.
    const show = (): void => {
      for (const { title, undo } of takeToasts()) {
        manager.add({
          title,
          timeout: undo === undefined ? 4000 : 8000,
          ...(undo === undefined ? {} : { actionProps: { children: undo.label, onClick: undo.onPress } }),
        });
      }
    };
    show();
    return followToasts(show);
  }, []);
  return (
    <Base.Provider toastManager={manager}>
      <Base.Portal>
        <Base.Viewport className="no-print fixed right-3 bottom-18 z-70 flex w-[min(24rem,calc(100vw-1.5rem))] flex-col gap-2 md:bottom-4">
          <List />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function List() {
  const { toasts } = Base.useToastManager();
  const t = useText(commonText);
  return toasts.map((each) => (
    <Base.Root key={each.id} toast={each} className="pop">
      <Base.Content className="flex items-center gap-3 px-3.5 py-2">
        <Base.Title className="min-w-0 flex-1 font-medium wrap-anywhere" />
        <Base.Action className={buttonClass('secondary', 'small')} />
        {/* Base UI hides it from screen readers until the toasts are pointed at, but it can be reached by keyboard before. */}
        <Base.Close
          aria-label={t.close}
          aria-hidden={false}
          className="inline-flex size-8 items-center justify-center rounded-md hover:bg-hover"
        >
          <X size={16} aria-hidden />
        </Base.Close>
      </Base.Content>
    </Base.Root>
  ));
}
