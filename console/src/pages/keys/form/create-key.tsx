// Creates a key: only a name is required.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { newIdempotencyKey } from '../../../api/client.js';
import { createKey, type CreateKey, type KeyWithSecret } from '../../../api/keys.js';
import { useZone } from '../../../format/time.js';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { FormDialog } from '../../../ui/dialog.js';
import { FormError } from '../../../ui/notice.js';
import { projectsKey } from '../../projects/queries.js';
import { KeyFields, shownFields } from './key-fields.js';
import { emptyForm, faultsOf, type KeyForm, newKeyOf } from './key-form.js';
import { keysKey } from '../queries.js';

/** `project` is selected initially; empty for the default project, or the first in which the user may create keys. `isFirst`: a name is filled in initially.
 */
export function CreateKeyDialog({
  project = '',
  isFirst = false,
  onClose,
  onCreated,
}: {
  project?: string;
  isFirst?: boolean;
  onClose: () => void;
  onCreated: (created: KeyWithSecret) => void;
}) {
  const account = useAccount();
  const zone = useZone();
  const t = useText(keysText);
  const client = useQueryClient();
  const nameRef = useRef<HTMLInputElement>(null);
  const mayInAll = account.can('change keys', '');
  const own = mayInAll ? undefined : account.projects.find(({ project_id }) => account.can('change keys', project_id))?.project_id;
  const [form, setForm] = useState<KeyForm>({ ...emptyForm, name: isFirst ? t.firstName : '', project: project || (own ?? '') });
  const [isChecked, setChecked] = useState(false);
  const faults = faultsOf(form, zone, Date.now());
  // One request while the form is unchanged: sent twice, by a double click or a retry, it creates one key. An expiry in days is counted from the first time.
  const request = useRef<{ readonly form: KeyForm; readonly fields: CreateKey; readonly idempotencyKey: string }>(undefined);
  const isSending = useRef(false);
  const creation = useMutation({
    mutationFn: ({ fields, idempotencyKey }: { fields: CreateKey; idempotencyKey: string }) =>
      createKey(account.id, fields, idempotencyKey),
    onSuccess: (created) => {
      void client.invalidateQueries({ queryKey: keysKey(account.id) });
      void client.invalidateQueries({ queryKey: projectsKey(account.id) });
      onCreated(created);
    },
    onSettled: () => (isSending.current = false),
  });

  function submit(): void {
    if (isSending.current) return;
    setChecked(true);
    if (Object.keys(faults).length > 0) return;
    if (request.current?.form !== form)
      request.current = { form, fields: newKeyOf(form, zone, Date.now()), idempotencyKey: newIdempotencyKey() };
    isSending.current = true;
    creation.mutate(request.current);
  }

  return (
    <FormDialog
      onClose={onClose}
      title={t.createTitle}
      initialFocus={nameRef}
      submit={t.create}
      busy={creation.isPending}
      onSubmit={submit}
      noValidate
    >
      <FormError error={creation.error} fields={shownFields} />
      <KeyFields {...{ form, nameRef }} faults={isChecked ? faults : {}} error={creation.error} onChange={setForm} />
    </FormDialog>
  );
}
