// Changes a member's role, and removes a member.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { type Member, putMember, deleteMember } from '../../api/users.js';
import type { Role } from '../../api/session.js';
import { membersText } from '../../i18n/members.js';
import { useText } from '../../i18n/text.js';
import type { AccountInUse } from '../../session/account.js';
import { meKey, queryClient } from '../../session/queries.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { FormError } from '../../ui/notice.js';
import { toast } from '../../ui/toast.js';
import { membersKey } from './query-keys.js';
import { RoleChoice } from './role-choice.js';

/** The user's own rights may have changed too. */
async function refreshMembers(accountId: string): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: membersKey(accountId) });
  await queryClient.invalidateQueries({ queryKey: meKey, exact: true });
}

export function RoleDialog({ account, member, onClose }: { account: AccountInUse; member: Member; onClose: () => void }) {
  const t = useText(membersText);
  const [role, setRole] = useState<Role>(member.role);
  const change = useMutation({
    mutationFn: () => putMember(account.id, member.id, role),
    async onSuccess() {
      onClose();
      toast(t.roleChanged({ email: member.email, role: t[role] }));
      await refreshMembers(account.id);
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => change.mutate()}
      title={t.changeRoleOf({ email: member.email })}
      confirm={t.changeRole}
      busy={change.isPending}
      disabled={role === member.role}
      danger={false}
    >
      <FormError error={change.error} />
      <RoleChoice value={role} onChange={setRole} withOwner={account.role === 'owner'} />
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
      // Known to be gone first, so that the start page does not lead back here.
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
