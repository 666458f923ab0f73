// Changes a member's role, and removes a member.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { type Member, putMember, deleteMember, deleteProjectMember, putProjectMember } from '../../../api/users.js';
import type { ProjectRole, Role } from '../../../api/session.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import type { AccountInUse } from '../../../session/account.js';
import { meKey, queryClient } from '../../../session/queries.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { FormError } from '../../../ui/notice.js';
import { toast } from '../../../ui/toasts/toast.js';
import { membersKey } from '../query-keys.js';
import { ProjectRoles, RoleChoice } from './role-choice.js';

/** The user's own rights may have changed too. */
async function refreshMembers(accountId: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: membersKey(accountId) });
  await queryClient.invalidateQueries({ queryKey: meKey, exact: true });
}

export function RoleDialog({ account, member, onClose }: { account: AccountInUse; member: Member; onClose: () => void }) {
  const t = useText(membersText);
  const [role, setRole] = useState<Role>(member.role);
  const [projects, setProjects] = useState<readonly ProjectRole[]>(member.projects);
  const roleIn = (roles: readonly ProjectRole[], id: string) => roles.find(({ project_id }) => project_id === id)?.role;
  const added = projects.filter((each) => roleIn(member.projects, each.project_id) !== each.role);
  const removed = member.projects.filter((each) => roleIn(projects, each.project_id) === undefined);
  const change = useMutation({
    async mutationFn() {
      if (role !== member.role) await putMember(account.id, member.id, role);
      for (const each of added) await putProjectMember(account.id, member.id, each.project_id, each.role);
      for (const each of removed) await deleteProjectMember(account.id, member.id, each.project_id);
    },
    onSuccess() {
      onClose();
      toast(t.roleChanged({ email: member.email, role: t[role] }));
    },
    // Also after an error, before which some of the roles may have been changed.
    onSettled: () => refreshMembers(account.id),
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => change.mutate()}
      title={t.changeRoleOf({ email: member.email })}
      confirm={t.changeRole}
      busy={change.isPending}
      disabled={role === member.role && added.length + removed.length === 0}
      danger={false}
    >
      <FormError error={change.error} />
      <RoleChoice value={role} onChange={setRole} withOwner={account.role === 'owner'} />
      <ProjectRoles value={projects} onChange={setProjects} isOpen={role === 'member'} />
    </ConfirmDialog>
  );
}

export function RemoveDialog({
  account,
  member,
  isSelf,
  onClose,
}: {
  account: AccountInUse;
  member: Member;
  isSelf: boolean;
  onClose: () => void;
}) {
  const t = useText(membersText);
  const [, go] = useLocation();
  const remove = useMutation({
    mutationFn: () => deleteMember(account.id, member.id),
    async onSuccess() {
      onClose();
      toast(t.removed({ email: member.email }));
      if (!isSelf) return refreshMembers(account.id);
      // Updates the memberships first, so that the start page does not lead back here.
      await queryClient.invalidateQueries({ queryKey: meKey, exact: true });
      go('/', { replace: true });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      title={isSelf ? t.leaveTitle({ account: account.name }) : t.removeTitle({ email: member.email })}
      description={isSelf ? t.leaveHint : t.removeHint}
      confirm={isSelf ? t.leave : t.remove}
      busy={remove.isPending}
    >
      <FormError error={remove.error} />
    </ConfirmDialog>
  );
}
