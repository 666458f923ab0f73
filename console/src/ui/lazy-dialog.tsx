// A dialog or sheet whose file is loaded when it is first opened.
import { type ReactNode, Suspense, useEffect } from 'react';

/** Shows the dialog once it is loaded. Until then, Escape closes it too. */
export function LazyDialog({ open = true, onClose, children }: { open?: boolean; onClose: () => void; children: ReactNode }) {
  return <Suspense fallback={open && <CloseOnEscape onClose={onClose} />}>{children}</Suspense>;
}

function CloseOnEscape({ onClose }: { onClose: () => void }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onClose();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  return null;
}
