// The dialog in which a user renames a second factor.
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { renameSecondFactor, type SecondFactor } from '../../api/second-factor.js';
import { commonText } from '../../i18n/common.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { toast } from '../../ui/toast.js';

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
  const form = useId();
  const rename = useMutation({
    mutationFn: () => renameSecondFactor(factor.id, name),
    async onSuccess() {
      await onRenamed();
      toast(t.renamed);
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.renameOf({ name: factor.name })}
      footer={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" form={form} look="primary" busy={rename.isPending}>
            {common.save}
          </Button>
        </>
      }
    >
      <FormError error={rename.error} fields={['name']} />
      <form id={form} onSubmit={submit}>
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
      </form>
    </Dialog>
  );
}
