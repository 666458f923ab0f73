// The dialogs of the actions for an existing key.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type ApiKey, revokeKey, rotateKey } from '../../api/keys.js';
import { useTime } from '../../format/time.js';
import { commonText } from '../../i18n/common.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { Dialog, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { FormError } from '../../ui/notice.js';
import { Segmented } from '../../ui/segmented.js';
import { toast } from '../../ui/toasts/toast.js';
import { EditKeyDialog } from './form/edit-key.js';
import type { OpenAction } from './key-actions.js';
import { useKeyChanged } from './queries.js';
import type { Revealed } from './secret/reveal-key.js';

/** The dialog that is open. */
export function KeyDialogs({
  open,
  onClose,
  onRevealed,
}: {
  open: OpenAction | undefined;
  onClose: () => void;
  onRevealed: (revealed: Revealed) => void;
}) {
  if (open === undefined) return null;
  const { action, apiKey } = open;
  if (action === 'edit') return <EditKeyDialog key={apiKey.id} {...{ apiKey, onClose }} />;
  if (action === 'rotate') return <RotateKeyDialog key={apiKey.id} {...{ apiKey, onClose, onRevealed }} />;
  return <RevokeKeyDialog key={apiKey.id} {...{ apiKey, onClose }} />;
}

const overlaps = { '0': 0, '1h': 3600, '24h': 86_400, '7d': 604_800 } as const;
type Overlap = keyof typeof overlaps;

function RotateKeyDialog({
  apiKey,
  onClose,
  onRevealed,
}: {
  apiKey: ApiKey;
  onClose: () => void;
  onRevealed: (revealed: Revealed) => void;
}) {
  const account = useAccount();
  const [t, common] = [useText(keysText), useText(commonText)];
  const time = useTime();
  const changed = useKeyChanged();
  const [overlap, setOverlap] = useState<Overlap>('24h');
  const rotation = useMutation({
    mutationFn: () => rotateKey(account.id, apiKey, overlaps[overlap]),
    onSuccess: (made) => {
      changed(made.key);
      onClose();
      onRevealed({ ...made, since: new Date().toISOString() });
    },
  });
  const labels: Readonly<Record<Overlap, string>> = { '0': t.overlap0, '1h': t.overlap1h, '24h': t.overlap24h, '7d': t.overlap7d };
  return (
    <Dialog
      onClose={onClose}
      title={t.rotateTitle({ name: apiKey.name })}
      description={t.rotateAbout}
      footer={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button look="primary" busy={rotation.isPending} onClick={() => rotation.mutate()}>
            {t.rotateDo}
          </Button>
        </>
      }
    >
      <FormError error={rotation.error} />
      <p className="mb-1 text-sm font-medium">{t.rotateOverlap}</p>
      <Segmented
        label={t.rotateOverlap}
        value={overlap}
        onChange={setOverlap}
        options={(Object.keys(overlaps) as Overlap[]).map((value) => ({ value, label: labels[value] }))}
      />
      <p className="mt-3 text-soft">
        {overlap === '0' ? t.rotateAtOnce : t.rotateLater({ when: time.full(Date.now() + overlaps[overlap] * 1000) })}
      </p>
    </Dialog>
  );
}

const dayMs = 86_400_000;

/** A name as the browser shows it, which is all that the user can type again. */
const asShown = (name: string): string => name.trim().replaceAll(/\s+/g, ' ');

function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const account = useAccount();
  const t = useText(keysText);
  const time = useTime();
  const changed = useKeyChanged();
  const [typed, setTyped] = useState('');
  const isInUse = apiKey.last_used_at !== null && Date.now() - Date.parse(apiKey.last_used_at) < dayMs;
  const revocation = useMutation({
    mutationFn: () => revokeKey(account.id, apiKey),
    onSuccess: (after) => {
      changed(after);
      toast(t.wasRevoked({ name: after.name }));
      onClose();
    },
  });
  const isReady = !isInUse || asShown(typed) === asShown(apiKey.name);

  function submit(): void {
    if (isReady && !revocation.isPending) revocation.mutate();
  }

  return (
    <FormDialog
      onClose={onClose}
      title={t.revokeTitle({ name: apiKey.name })}
      description={t.revokeAbout}
      submit={t.revoke}
      danger
      busy={revocation.isPending}
      disabled={!isReady}
      onSubmit={submit}
    >
      <FormError error={revocation.error} />
      {isInUse && (
        <>
          <p className="mb-3">{t.revokeUsed({ when: time.relative(apiKey.last_used_at!), model: apiKey.last_used_model ?? '' })}</p>
          <TextField label={t.revokeType({ name: apiKey.name })} value={typed} onChange={(event) => setTyped(event.target.value)} />
        </>
      )}
    </FormDialog>
  );
}
