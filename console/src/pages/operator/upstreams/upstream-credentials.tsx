// The credentials of an upstream that has several. Secrets are never shown again.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogKeys, deleteCredential, type Upstream } from '../../../api/operator-catalog.js';
import { targetsText } from '../../../i18n/operator-targets.js';
import { useText } from '../../../i18n/text.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { ActionMenu } from '../../../ui/menu.js';
import { FormError } from '../../../ui/notice.js';
import { DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';
import { CredentialDialog } from './lazy-upstream-dialogs.js';

type PendingAction = { readonly what: 'rotate' | 'remove'; readonly name: string };

export function UpstreamCredentials({ upstream: { id, credentials } }: { upstream: Upstream }) {
  const t = useText(targetsText);
  const client = useQueryClient();
  const [pending, setPending] = useState<PendingAction>();
  const close = (): void => setPending(undefined);
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
                  { label: t.rotate, onSelect: () => setPending({ what: 'rotate', name }) },
                  { label: t.remove, danger: true, onSelect: () => setPending({ what: 'remove', name }) },
                ]}
              />
            ),
          },
        ]}
      />
      {pending?.what === 'rotate' && <CredentialDialog upstreamId={id} name={pending.name} onClose={close} />}
      <ConfirmDialog
        open={pending?.what === 'remove'}
        onClose={close}
        onConfirm={() => pending !== undefined && remove.mutate(pending.name)}
        busy={remove.isPending}
        title={t.removeTitle({ name: pending?.name ?? '' })}
        description={t.removeText}
        confirm={t.remove}
      >
        <FormError error={remove.error} />
      </ConfirmDialog>
    </div>
  );
}
