// Who is asked into the account and has not answered yet.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Invitation, listInvitations, revokeInvitation } from '../../api/people.js';
import { membersText } from '../../i18n/members.js';
import { useText } from '../../i18n/text.js';
import { queryClient } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Card, Section } from '../../ui/layout.js';
import { FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { type Column, DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toast.js';
import { When } from '../../ui/values.js';
import { invitationsKey } from './query-keys.js';

export function PendingInvitations({ accountId }: { accountId: string }) {
  const t = useText(membersText);
  const [ending, setEnding] = useState<Invitation>();
  const query = useQuery({ queryKey: invitationsKey(accountId), queryFn: ({ signal }) => listInvitations(accountId, signal) });
  const revoke = useMutation({
    mutationFn: ({ id }: Invitation) => revokeInvitation(accountId, id),
    async onSuccess(_, { email }) {
      setEnding(undefined);
      toast(t.revoked({ email }));
      await queryClient.invalidateQueries({ queryKey: invitationsKey(accountId) });
    },
  });
  const columns: readonly Column<Invitation>[] = [
    { name: t.email, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
    { name: t.role, cell: ({ role }) => t[role] },
    { name: t.expires, cell: (invitation) => <When at={invitation.expires_at} /> },
    {
      name: t.revoke,
      hideName: true,
      cell: (invitation) => (
        <Button size="small" onClick={() => setEnding(invitation)} aria-label={t.revokeTitle({ email: invitation.email })}>
          {t.revoke}
        </Button>
      ),
    },
  ];
  return (
    <Section title={t.invitations}>
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <p className="text-soft">{t.noInvitations}</p>
            </Card>
          ) : (
            <DataTable caption={t.invitations} columns={columns} rows={data} rowKey={({ id }) => id} />
          )
        }
      </Fetched>
      <ConfirmDialog
        open={ending !== undefined}
        onClose={() => {
          revoke.reset();
          setEnding(undefined);
        }}
        onConfirm={() => ending !== undefined && revoke.mutate(ending)}
        title={t.revokeTitle({ email: ending?.email ?? '' })}
        description={t.revokeHint}
        confirm={t.revoke}
        busy={revoke.isPending}
      >
        <FormError error={revoke.error} />
      </ConfirmDialog>
    </Section>
  );
}
