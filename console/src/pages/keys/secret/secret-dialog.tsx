// Shows a secret once. It cannot be closed by accident: neither Escape, nor a click outside, nor navigation closes it before the secret was copied,
// or the user confirms that it is saved.
import { type ReactNode, useRef, useState } from 'react';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { useLeaveGuard } from '../../../session/leave-guard.js';
import { Button } from '../../../ui/button.js';
import { CopyButton } from '../../../ui/copy.js';
import { Dialog } from '../../../ui/dialog.js';
import { Notice } from '../../../ui/notice.js';

/** `children` gets the function to call when the secret was copied elsewhere. */
export function SecretDialog({
  title,
  name,
  secret,
  onClose,
  children,
}: {
  title: string;
  name: string;
  secret: string;
  onClose: () => void;
  children: (onCopied: () => void) => ReactNode;
}) {
  const t = useText(keysText);
  const shown = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  const onCopied = (): void => setCopied(true);
  useLeaveGuard(!isCopied);
  return (
    <Dialog
      sticky={!isCopied}
      wide
      onClose={onClose}
      title={title}
      description={t.revealOnce}
      footer={
        <>
          {!isCopied && <p className="mr-auto self-center text-sm text-soft">{t.notSaved}</p>}
          <Button look={isCopied ? 'primary' : 'secondary'} onClick={onClose}>
            {t.saved}
          </Button>
        </>
      }
    >
      <p className="mb-1 text-sm font-medium">
        {t.secret} · {name}
      </p>
      <div className="mb-4 flex flex-wrap items-center gap-2 rounded-md border border-edge bg-panel p-2.5">
        <code ref={shown} data-testid="secret" className="min-w-0 flex-1 basis-72 wrap-anywhere select-all">
          {secret}
        </code>
        <CopyButton look="primary" text={secret} label={t.copyKey} source={shown} onCopied={onCopied} />
      </div>
      <Notice tone="warn">{t.advice}</Notice>
      {children(onCopied)}
    </Dialog>
  );
}
