// The members of the account with their roles, and its open invitations.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listMembers, type Member } from '../../../api/users.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { useAccount, useMe } from '../../../session/account.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { Card, Empty, PageHeader, Section } from '../../../ui/layout.js';
import { ActionMenu } from '../../../ui/menu.js';
import { Fetched } from '../../../ui/query.js';
import { type Column, DataTable } from '../../../ui/table.js';
import { When } from '../../../ui/values.js';
import { useProjectName } from '../../projects/queries.js';
import { InviteDialog } from './members-invite.js';
import { PendingInvitations } from './members-pending.js';
import { RemoveDialog, RoleDialog } from './members-change.js';
import { SecuritySection } from './members-security.js';
import { membersKey } from '../query-keys.js';
import { RoleName } from './role-choice.js';

type Change = { readonly what: 'role' | 'remove'; readonly member: Member };

export default function MembersPage() {
  const t = useText(membersText);
  const account = useAccount();
  const me = useMe();
  const [isInviting, setInviting] = useState(false);
  const [change, setChange] = useState<Change>();
  const query = useQuery({ queryKey: membersKey(account.id), queryFn: ({ signal }) => listMembers(account.id, signal) });
  const projectName = useProjectName();
  const mayChange = account.can('change members');
  // Only owners may change owners and their invitations, or add one.
  const mayTouch = ({ role }: Pick<Member, 'role'>): boolean => mayChange && (role !== 'owner' || account.role === 'owner');
  const columns: readonly Column<Member>[] = [
    {
      name: t.person,
      cell: (member) => (
        <span className="flex flex-wrap items-center gap-2">
          <span className="wrap-anywhere">{member.name}</span>
          {member.id === me.user.id && <Badge>{t.you}</Badge>}
          {mayChange && !member.has_second_factor && <Badge>{t.noFactor}</Badge>}
        </span>
      ),
    },
    {
      name: t.email,
      className: 'text-soft wrap-anywhere',
      cell: (member) => (
        <>
          {member.email} {!member.email_verified && <Badge>{t.unverified}</Badge>}
        </>
      ),
    },
    {
      name: t.role,
      cell: (member) => (
        <>
          <RoleName role={member.role} />
          {member.projects.map(({ project_id, role }) => (
            <span key={project_id} className="block text-sm text-soft wrap-anywhere">
              {projectName(project_id)}: {t[role]}
            </span>
          ))}
        </>
      ),
    },
    { name: t.since, className: 'md:whitespace-nowrap', cell: (member) => <When at={member.since} style="day" /> },
    {
      name: t.actionsOf({ email: '' }).trim(),
      hideName: true,
      cell: (member) => {
        const isSelf = member.id === me.user.id;
        if (!isSelf && !mayTouch(member)) return null;
        return (
          <ActionMenu
            label={t.actionsOf({ email: member.email })}
            actions={[
              mayTouch(member) && { label: t.changeRole, onSelect: () => setChange({ what: 'role', member }) },
              { label: isSelf ? t.leave : t.remove, danger: true, onSelect: () => setChange({ what: 'remove', member }) },
            ]}
          />
        );
      },
    },
  ];
  return (
    <>
      <PageHeader
        title={t.title}
        description={mayChange ? t.description : `${t.description} ${t.readOnly}`}
        actions={
          mayChange && (
            <Button look="primary" onClick={() => setInviting(true)}>
              {t.invite}
            </Button>
          )
        }
      />
      <Section>
        <Fetched query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t.noMembers} />
            ) : (
              <Card flush>
                <DataTable caption={t.title} columns={columns} rows={data} rowKey={({ id }) => id} />
              </Card>
            )
          }
        </Fetched>
      </Section>
      {query.data !== undefined && <SecuritySection account={account} members={query.data.data} />}
      {mayChange && <PendingInvitations accountId={account.id} mayRevoke={mayTouch} />}
      {isInviting && <InviteDialog account={account} onClose={() => setInviting(false)} />}
      {change?.what === 'role' && <RoleDialog account={account} member={change.member} onClose={() => setChange(undefined)} />}
      {change?.what === 'remove' && (
        <RemoveDialog
          account={account}
          member={change.member}
          isSelf={change.member.id === me.user.id}
          onClose={() => setChange(undefined)}
        />
      )}
    </>
  );
}
