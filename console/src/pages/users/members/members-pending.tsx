// The open invitations of the account.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listInvitations, type OpenInvitation, revokeInvitation } from '../../../api/users.js';
import { useFindingText } from '../../../i18n/finding-text.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { liveMs, queryClient } from '../../../session/queries.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Card, Section } from '../../../ui/layout.js';
import { FormError } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { type Column, DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';
import { invitationsKey } from '../query-keys.js';
import { RoleName } from './role-choice.js';

function MailStanding({ mail: { state, words } }: Pick<OpenInvitation, 'mail'>) {
  const t = useText(membersText);
  const found = useFindingText();
  if (state === 'none') return t.mailNone;
  if (state === 'pending')
    return (
      <>
        <Badge icon="waiting">{t.mailIsPending}</Badge> {words !== null && <span className="text-sm text-soft">{found(words)}</span>}
      </>
    );
  if (state === 'sent')
    return (
      <Badge tone="good" icon="ok">
        {t.mailIsSent}
      </Badge>
    );
  return (
    <>
      <Badge tone="warn" icon="fault">
        {t.mailHasFailed}
      </Badge>{' '}
      <span className="text-sm text-soft">{found(words ?? '')}</span>
    </>
  );
}

export function PendingInvitations({ accountId, mayRevoke }: { accountId: string; mayRevoke: (invitation: OpenInvitation) => boolean }) {
  const t = useText(membersText);
  const [ending, setEnding] = useState<OpenInvitation>();
  const query = useQuery({
    queryKey: invitationsKey(accountId),
    queryFn: ({ signal }) => listInvitations(accountId, signal),
    refetchInterval: ({ state }) => (state.data?.data.some(({ mail }) => mail.state === 'pending') === true ? liveMs : false),
  });
  const revoke = useMutation({
    mutationFn: ({ id }: OpenInvitation) => revokeInvitation(accountId, id),
    async onSuccess(_, { email }) {
      setEnding(undefined);
      toast(t.revoked({ email }));
      await queryClient.invalidateQueries({ queryKey: invitationsKey(accountId) });
    },
  });
  const columns: readonly Column<OpenInvitation>[] = [
    { name: t.email, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
    { name: t.role, cell: ({ role }) => <RoleName role={role} /> },
    { name: t.expires, cell: (invitation) => <When at={invitation.expires_at} /> },
    { name: t.mail, className: 'wrap-anywhere', cell: ({ mail }) => <MailStanding mail={mail} /> },
    {
      name: t.revoke,
      hideName: true,
      cell: (invitation) =>
        mayRevoke(invitation) && (
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
            <Card flush>
              <DataTable caption={t.invitations} columns={columns} rows={data} rowKey={({ id }) => id} />
            </Card>
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
