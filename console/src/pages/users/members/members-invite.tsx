// Invites a user to the account: a form, then the link, which is shown once.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { invite, type OpenInvitation } from '../../../api/users.js';
import type { ProjectRole, Role } from '../../../api/session.js';
import { consoleUrl } from '../../../base.js';
import { useTime } from '../../../format/time.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import type { AccountInUse } from '../../../session/account.js';
import { queryClient } from '../../../session/queries.js';
import { useLeaveGuard } from '../../../session/leave-guard.js';
import { Button } from '../../../ui/button.js';
import { CopyButton } from '../../../ui/copy.js';
import { Dialog, FormDialog } from '../../../ui/dialog.js';
import { EmailField } from '../../../ui/field.js';
import { fieldError, FormError } from '../../../ui/notice.js';
import { MailNotice } from './mail-notice.js';
import { invitationsKey } from '../query-keys.js';
import { ProjectRoles, RoleChoice } from './role-choice.js';

export function InviteDialog({ account, onClose }: { account: AccountInUse; onClose: () => void }) {
  const t = useText(membersText);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('developer');
  const [projects, setProjects] = useState<ProjectRole[]>([]);
  const ask = useMutation({
    mutationFn: () => invite(account.id, { email, role, projects }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: invitationsKey(account.id) }),
  });
  if (ask.data !== undefined) {
    const { invitation, token } = ask.data;
    return <LinkDialog invitation={invitation} url={`${consoleUrl('/invitation')}#${token}`} onClose={onClose} />;
  }
  return (
    <FormDialog
      onClose={onClose}
      title={t.inviteTitle}
      description={t.inviteHint}
      submit={t.makeLink}
      busy={ask.isPending}
      onSubmit={() => ask.mutate()}
    >
      <FormError error={ask.error} fields={['email']} />
      <EmailField label={t.email} value={email} onChange={(event) => setEmail(event.target.value)} error={fieldError(ask.error, 'email')} />
      <RoleChoice value={role} onChange={setRole} withOwner={account.role === 'owner'} />
      <ProjectRoles value={projects} onChange={setProjects} isOpen={role === 'member'} />
    </FormDialog>
  );
}

/** Stays open until the user confirms having copied the link. */
function LinkDialog({
  invitation: { email, expires_at, mail },
  url,
  onClose,
}: {
  invitation: OpenInvitation;
  url: string;
  onClose: () => void;
}) {
  const t = useText(membersText);
  const time = useTime();
  const source = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  useLeaveGuard(!isCopied);
  return (
    <Dialog
      sticky
      onClose={onClose}
      title={mail.state === 'sent' ? t.mailedTitle : t.linkTitle}
      description={t.linkHint({ email, until: time.minute(expires_at) })}
      footer={
        <>
          <CopyButton text={url} label={t.copyLink} source={source} look="primary" onCopied={() => setCopied(true)} />
          <Button onClick={onClose}>{t.saved}</Button>
        </>
      }
    >
      <MailNotice email={email} mail={mail} />
      <code
        ref={source}
        role="region"
        aria-label={t.link}
        tabIndex={0}
        className="block rounded-md border border-line bg-panel p-3 text-sm wrap-anywhere"
      >
        {url}
      </code>
    </Dialog>
  );
}
