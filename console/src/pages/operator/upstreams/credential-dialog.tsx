// Adds a credential to an upstream, or rotates one.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { addCredential, catalogKeys, rotateCredential } from '../../../api/operator-catalog.js';
import { targetsText } from '../../../i18n/operator-targets.js';
import { useText } from '../../../i18n/text.js';
import { FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { fieldError, FormError } from '../../../ui/notice.js';
import { toast } from '../../../ui/toasts/toast.js';

/** Adds a credential, or replaces the secret of the one with this name. */
export function CredentialDialog({ upstreamId, name, onClose }: { upstreamId: string; name?: string; onClose: () => void }) {
  const t = useText(targetsText);
  const client = useQueryClient();
  const [typedName, setTypedName] = useState('');
  const [secret, setSecret] = useState('');
  const save = useMutation({
    mutationFn: () =>
      name === undefined ? addCredential(upstreamId, typedName.trim(), secret.trim()) : rotateCredential(upstreamId, name, secret.trim()),
    onSuccess: async () => {
      toast(t.savedNow);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={name === undefined ? t.addCredentialTitle({ id: upstreamId }) : t.rotateTitle({ name })}
      description={name === undefined ? t.credentialsHint : t.rotateText}
      submit={name === undefined ? t.addCredential : t.rotate}
      busy={save.isPending}
      onSubmit={() => save.mutate()}
    >
      {name === undefined && (
        <TextField
          label={t.name}
          hint={t.nameHint}
          required
          value={typedName}
          onChange={(event) => setTypedName(event.target.value)}
          error={fieldError(save.error, 'credential_id')}
          spellCheck={false}
        />
      )}
      <TextField
        label={t.secret}
        type="password"
        autoComplete="new-password"
        required
        value={secret}
        onChange={(event) => setSecret(event.target.value)}
        error={fieldError(save.error, 'secret')}
      />
      <FormError error={save.error} fields={['credential_id', 'secret']} />
    </FormDialog>
  );
}
