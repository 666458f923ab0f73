// The keys with which programs use the console's API.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { listManagementKeys, type ManagementKey, revokeManagementKey } from '../../api/management-keys.js';
import { gatewayUrl } from '../../base.js';
import { commonText } from '../../i18n/common.js';
import { keysText } from '../../i18n/keys.js';
import { managementKeysText } from '../../i18n/management-keys.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button, CreateButton } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { Card, Empty, PageHeader } from '../../ui/layout.js';
import { ActionMenu } from '../../ui/menu.js';
import { FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toasts/toast.js';
import { When } from '../../ui/values.js';
import { useProjectName } from '../projects/queries.js';
import { CreateManagementKey } from './create-management-key.js';
import { managementKeysKey } from './queries.js';

const looks = {
  active: { tone: 'good', icon: 'ok' },
  expired: { tone: 'warn', icon: 'waiting' },
  revoked: { tone: 'plain', icon: 'stopped' },
  user_lost_access: { tone: 'bad', icon: 'fault' },
} as const;

export default function ManagementKeysPage() {
  const account = useAccount();
  const [t, keys, common] = [useText(managementKeysText), useText(keysText), useText(commonText)];
  const projectName = useProjectName();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ManagementKey>();
  const query = useQuery({ queryKey: managementKeysKey(account.id), queryFn: ({ signal }) => listManagementKeys(account.id, signal) });
  const createButton = <CreateButton onClick={() => setCreating(true)}>{t.create}</CreateButton>;
  return (
    <>
      <PageHeader
        title={t.title}
        back={[account.path('/keys'), keys.title]}
        description={
          <>
            {t.about}{' '}
            <a className="link" href={`${gatewayUrl}docs/keys#management-keys`}>
              {t.docs}
            </a>
          </>
        }
        actions={createButton}
      />
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t.none} action={createButton}>
              {t.noneHint}
            </Empty>
          ) : (
            <Card flush>
              <DataTable<ManagementKey>
                caption={t.title}
                rows={data}
                rowKey={({ id }) => id}
                columns={[
                  {
                    name: keys.name,
                    cell: (key) => (
                      <>
                        <span className="wrap-anywhere">{key.name}</span>{' '}
                        <code className="whitespace-nowrap text-soft">…{key.last_four}</code>
                      </>
                    ),
                  },
                  { name: t.state, cell: ({ state }) => <Badge {...looks[state]}>{t[state]}</Badge> },
                  {
                    name: t.scopes,
                    cell: (key) => (
                      <>
                        <code>{key.scopes.join(', ')}</code>
                        {key.project_id !== null && <span className="block text-sm text-soft">{projectName(key.project_id)}</span>}
                        {key.allowed_addresses.length > 0 && (
                          <span className="block text-sm text-soft wrap-anywhere">{key.allowed_addresses.join(', ')}</span>
                        )}
                      </>
                    ),
                  },
                  { name: t.actsFor, cell: ({ user }) => <span className="wrap-anywhere">{user.email}</span> },
                  {
                    name: keys.lastUsed,
                    cell: ({ last_used_at: at }) =>
                      at === null ? <span className="text-soft">{keys.neverUsed}</span> : <When at={at} style="relative" />,
                  },
                  {
                    name: keys.expires,
                    cell: ({ expires_at: at }) =>
                      at === null ? <span className="text-soft">{keys.expiresNever}</span> : <When at={at} style="day" />,
                  },
                  {
                    name: common.actions,
                    hideName: true,
                    className: 'num',
                    cell: (key) =>
                      key.state !== 'revoked' && (
                        <ActionMenu
                          label={keys.actionsOf({ name: key.name })}
                          actions={[{ label: keys.revoke, danger: true, onSelect: () => setRevoking(key) }]}
                        />
                      ),
                  },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
      {isCreating && <CreateManagementKey onClose={() => setCreating(false)} />}
      {revoking !== undefined && <RevokeDialog managementKey={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

function RevokeDialog({ managementKey: { id, name }, onClose }: { managementKey: ManagementKey; onClose: () => void }) {
  const account = useAccount();
  const [t, keys, common] = [useText(managementKeysText), useText(keysText), useText(commonText)];
  const client = useQueryClient();
  const revocation = useMutation({
    mutationFn: () => revokeManagementKey(account.id, id),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: managementKeysKey(account.id) });
      toast(keys.wasRevoked({ name }));
      onClose();
    },
  });
  return (
    <Dialog
      onClose={onClose}
      title={t.revokeTitle({ name })}
      description={t.revokeAbout}
      footer={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button look="danger" busy={revocation.isPending} onClick={() => revocation.mutate()}>
            {keys.revoke}
          </Button>
        </>
      }
    >
      <FormError error={revocation.error} />
    </Dialog>
  );
}
