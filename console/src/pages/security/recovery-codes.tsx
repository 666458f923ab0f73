// Recovery codes, shown once.
import { Download } from 'lucide-react';
import { useRef, useState } from 'react';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { useLeaveGuard } from '../../session/leave-guard.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { saveFile } from '../../ui/save-file.js';

export function RecoveryCodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const t = useText(secondFactorText);
  const { user } = useMe();
  const shown = useRef<HTMLUListElement>(null);
  const [isSaved, setSaved] = useState(false);
  useLeaveGuard(!isSaved);
  const text = `Tollgate ${location.origin}\n${user.email}\n\n${codes.join('\n')}\n`;
  return (
    <Dialog
      sticky
      onClose={onClose}
      title={t.codesTitle}
      description={t.codesAbout}
      footer={
        <Button look={isSaved ? 'primary' : 'secondary'} onClick={onClose}>
          {t.codesSaved}
        </Button>
      }
    >
      <ul
        ref={shown}
        aria-label={t.codesTitle}
        className="mb-4 grid grid-cols-1 gap-1.5 rounded-md border border-edge bg-panel p-3 sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton look="primary" text={codes.join('\n')} source={shown} onCopied={() => setSaved(true)} />
        <Button
          onClick={() => {
            saveFile(new Blob([text], { type: 'text/plain' }), 'tollgate-recovery-codes.txt');
            setSaved(true);
          }}
        >
          <Download size={16} aria-hidden />
          {t.codesDownload}
        </Button>
      </div>
    </Dialog>
  );
}
