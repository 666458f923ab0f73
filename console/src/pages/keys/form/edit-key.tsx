// Edits a key. Fields that the user does not change are not sent.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type ApiKey, updateKey } from '../../../api/keys.js';
import { useZone } from '../../../format/time.js';
import { commonText } from '../../../i18n/common.js';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { FormDialog } from '../../../ui/dialog.js';
import { FormError } from '../../../ui/notice.js';
import { toast } from '../../../ui/toasts/toast.js';
import { KeyFields, shownFields } from './key-fields.js';
import { changesOf, faultsOf, formOf, type KeyForm, type KeyFormFaults } from './key-form.js';
import { useKeyChanged } from '../queries.js';

export function EditKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const account = useAccount();
  const zone = useZone();
  const [t, common] = [useText(keysText), useText(commonText)];
  const nameRef = useRef<HTMLInputElement>(null);
  const [before] = useState(() => formOf(apiKey, zone));
  const [form, setForm] = useState<KeyForm>(before);
  const [isChecked, setChecked] = useState(false);
  const changed = useKeyChanged();
  const change = useMutation({
    mutationFn: () => {
      const changes = changesOf(before, form, zone, Date.now());
      return Object.keys(changes).length === 0 ? Promise.resolve(apiKey) : updateKey(account.id, apiKey, changes);
    },
    onSuccess: (after) => {
      changed(after);
      toast(t.wasSaved({ name: after.name }));
      onClose();
    },
  });

  const { expires_at: expiryFault, ...others } = faultsOf(form, zone, Date.now());
  // An expiry that has passed may stay.
  const isSame = form.expiry === before.expiry && form.expiresAt === before.expiresAt;
  const faults: KeyFormFaults = isSame || expiryFault === undefined ? others : { ...others, expires_at: expiryFault };

  function submit(): void {
    setChecked(true);
    if (Object.keys(faults).length === 0 && !change.isPending) change.mutate();
  }

  return (
    <FormDialog
      onClose={onClose}
      title={t.editTitle({ name: apiKey.name })}
      initialFocus={nameRef}
      submit={common.save}
      busy={change.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={change.error} fields={shownFields} />
      <KeyFields {...{ form, nameRef }} faults={isChecked ? faults : {}} error={change.error} onChange={setForm} isUnfolded />
    </FormDialog>
  );
}
