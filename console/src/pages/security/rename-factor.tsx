// The dialog in which a user renames a second factor.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { renameSecondFactor, type SecondFactor } from '../../api/second-factor.js';
import { commonText } from '../../i18n/common.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { toast } from '../../ui/toasts/toast.js';

export function RenameFactorDialog({
  factor,
  onClose,
  onRenamed,
}: {
  factor: SecondFactor;
  onClose: () => void;
  onRenamed: () => Promise<void>;
}) {
  const t = useText(secondFactorText);
  const common = useText(commonText);
  const [name, setName] = useState(factor.name);
  const rename = useMutation({
    mutationFn: () => renameSecondFactor(factor.id, name),
    async onSuccess() {
      await onRenamed();
      toast(t.renamed);
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={t.renameOf({ name: factor.name })}
      submit={common.save}
      onSubmit={() => rename.mutate()}
      busy={rename.isPending}
    >
      <FormError error={rename.error} fields={['name']} />
      <TextField
        label={t.name}
        hint={t.nameHint}
        name="name"
        required
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={fieldError(rename.error, 'name')}
      />
    </FormDialog>
  );
}
