// The credentials of an upstream that has several, and the dialog that adds or rotates one. Secrets are never shown again.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogKeys, deleteCredential, putCredential, type Upstream } from '../../api/operator-catalog.js';
import { targetsText } from '../../i18n/operator-targets.js';
import { useText } from '../../i18n/text.js';
import { ConfirmDialog, FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { ActionMenu } from '../../ui/menu.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toast.js';
import { When } from '../../ui/values.js';

type Asked = { readonly what: 'rotate' | 'remove'; readonly name: string };

export function UpstreamCredentials({ upstream: { id, credentials } }: { upstream: Upstream }) {
  const t = useText(targetsText);
  const client = useQueryClient();
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  const remove = useMutation({
    mutationFn: (name: string) => deleteCredential(id, name),
    onSuccess: async () => {
      toast(t.removedNow);
      close();
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  if (credentials.length < 2) return null;
  return (
    <div className="mt-4">
      <h3 className="font-medium">{t.credentials}</h3>
      <p className="mb-2 text-sm text-soft">{t.credentialsHint}</p>
      <DataTable
        caption={t.credentialsOf({ id })}
        rows={credentials}
        rowKey={(credential) => credential.id}
        columns={[
          { name: t.name, cell: (credential) => <code>{credential.id}</code>, className: 'wrap-anywhere' },
          {
            name: t.secret,
            cell: ({ secret_last_four }) => (secret_last_four === null ? t.shortSecret : <code>{`…${secret_last_four}`}</code>),
          },
          { name: t.set, cell: ({ set_at }) => <When at={set_at} /> },
          {
            name: t.actions,
            hideName: true,
            cell: ({ id: name }) => (
              <ActionMenu
                label={t.actionsOfCredential({ name })}
                actions={[
                  { label: t.rotate, onSelect: () => setAsked({ what: 'rotate', name }) },
                  { label: t.remove, danger: true, onSelect: () => setAsked({ what: 'remove', name }) },
                ]}
              />
            ),
          },
        ]}
      />
      {asked?.what === 'rotate' && <CredentialDialog upstreamId={id} name={asked.name} onClose={close} />}
      <ConfirmDialog
        open={asked?.what === 'remove'}
        onClose={close}
        onConfirm={() => asked !== undefined && remove.mutate(asked.name)}
        busy={remove.isPending}
        title={t.removeTitle({ name: asked?.name ?? '' })}
        description={t.removeText}
        confirm={t.remove}
      >
        <FormError error={remove.error} />
      </ConfirmDialog>
    </div>
  );
}

/** Adds a credential, or replaces the secret of the one with this name. */
export function CredentialDialog({ upstreamId, name, onClose }: { upstreamId: string; name?: string; onClose: () => void }) {
  const t = useText(targetsText);
  const client = useQueryClient();
  const [typedName, setTypedName] = useState('');
  const [secret, setSecret] = useState('');
  const save = useMutation({
    mutationFn: () => putCredential(upstreamId, name ?? typedName.trim(), secret.trim()),
    onSuccess: async () => {
      toast(t.savedNow);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
      onClose();
    },
  });
  return (
    <FormDialog
      open
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
