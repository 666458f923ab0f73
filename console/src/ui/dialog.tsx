// Dialogs and side sheets. They trap the focus, and restore it when they close.
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, type RefObject, useId, useRef } from 'react';
import { useText } from '../i18n/text.js';
import { commonText } from '../i18n/common.js';
import { Button } from './button.js';
import { classNames } from './class-names.js';
import { Form } from './form.js';

interface DialogProps {
  readonly open?: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly children?: ReactNode;
  /** Buttons at the bottom, the primary one last. */
  readonly footer?: ReactNode;
  /** Neither Escape nor a click outside closes the dialog, because something would be lost. */
  readonly sticky?: boolean;
  readonly wide?: boolean;
  readonly initialFocus?: RefObject<HTMLElement | null> | undefined;
}

/** Selects the fields that can have the focus when a dialog opens. */
const firstField = 'input:not([type=checkbox], [type=radio]), select, textarea';

/** A dialog in the middle of the page, or in the full width of a narrow screen. Its first field has the focus. */
export function Dialog({
  open = true,
  onClose,
  title,
  description,
  children,
  footer,
  sticky = false,
  wide = false,
  initialFocus,
}: DialogProps) {
  const popup = useRef<HTMLDivElement>(null);
  // On a phone, the focus would open the keyboard over the dialog.
  const focusField = (by: string) => (by === 'touch' ? true : (popup.current?.querySelector<HTMLElement>(firstField) ?? true));
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={sticky}
      onOpenChange={(isOpen) => {
        if (!isOpen && !sticky) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="no-print fixed inset-0 z-40 bg-veil" />
        <Base.Viewport className="fixed inset-0 z-50 grid place-items-center overflow-y-auto p-3">
          <Base.Popup
            ref={popup}
            initialFocus={initialFocus ?? focusField}
            // A name without spaces must not push the buttons out of a narrow screen.
            className={classNames('pop w-full min-w-0 p-5 wrap-break-word', wide ? 'max-w-3xl' : 'max-w-lg')}
          >
            <div className="mb-3 flex items-start justify-between gap-4">
              <Base.Title className="min-w-0 text-lg font-semibold">{title}</Base.Title>
              {!sticky && <DialogClose />}
            </div>
            {description !== undefined && <Base.Description className="mb-4 text-soft">{description}</Base.Description>}
            {children}
            {footer !== undefined && <div className="mt-5 flex flex-wrap justify-end gap-2">{footer}</div>}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

/** A dialog with one form, and below it Cancel and the button that submits it. `noValidate`: the form shows its faults itself. */
export function FormDialog({
  submit,
  onSubmit,
  busy = false,
  disabled = false,
  danger = false,
  noValidate = false,
  children,
  ...dialog
}: Omit<DialogProps, 'footer' | 'sticky'> & {
  /** The text of the button. */
  submit: string;
  onSubmit: () => void;
  busy?: boolean;
  disabled?: boolean;
  danger?: boolean;
  noValidate?: boolean;
}) {
  const t = useText(commonText);
  const form = useId();
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={dialog.onClose}>{t.cancel}</Button>
          <Button type="submit" form={form} look={danger ? 'danger' : 'primary'} busy={busy} disabled={disabled}>
            {submit}
          </Button>
        </>
      }
    >
      <Form id={form} noValidate={noValidate} onSubmit={onSubmit}>
        {children}
      </Form>
    </Dialog>
  );
}

/** Details at the side of the page. They have their own address, so that the page decides what closing does. */
export function Sheet({ open, onClose, title, description, children }: Omit<DialogProps, 'footer' | 'sticky' | 'wide'>) {
  return (
    <Base.Root
      open={open}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="no-print fixed inset-0 z-40 bg-veil" />
        <Base.Popup className="pop fixed inset-y-0 right-0 z-50 w-full max-w-2xl overflow-y-auto rounded-none border-y-0 border-r-0 p-5">
          <div className="mb-4 flex items-start justify-between gap-4">
            <Base.Title className="min-w-0 text-lg font-semibold wrap-anywhere">{title}</Base.Title>
            <DialogClose />
          </div>
          {description !== undefined && <Base.Description className="mb-4 text-soft">{description}</Base.Description>}
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function DialogClose() {
  const t = useText(commonText);
  return (
    <Base.Close
      aria-label={t.close}
      className="-mt-1.5 -mr-1.5 inline-flex size-10 shrink-0 items-center justify-center rounded-md hover:bg-hover"
    >
      <X size={18} aria-hidden />
    </Base.Close>
  );
}

/** Asks for confirmation before an action that cannot be undone. `children` can contain more text or fields. */
export function ConfirmDialog({
  onConfirm,
  confirm,
  busy = false,
  disabled = false,
  danger = true,
  ...dialog
}: Omit<DialogProps, 'footer' | 'sticky'> & {
  onConfirm: () => void;
  /** The text of the button: the action, not "OK". */
  confirm: string;
  busy?: boolean;
  disabled?: boolean;
  danger?: boolean;
}) {
  const t = useText(commonText);
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={dialog.onClose}>{t.cancel}</Button>
          <Button look={danger ? 'danger' : 'primary'} onClick={onConfirm} busy={busy} disabled={disabled}>
            {confirm}
          </Button>
        </>
      }
    />
  );
}
