// The users of the console, for operators.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import {
  createLink,
  createUser,
  endAllSessions,
  listUsers,
  operatorKeys,
  type OperatorUser,
  resetSecondFactors,
  type SignInLink,
  updateUser,
} from '../../../api/operator.js';
import { usersText } from '../../../i18n/operator.js';
import { useText } from '../../../i18n/text.js';
import { useMe } from '../../../session/account.js';
import { Badge } from '../../../ui/badge.js';
import { Button, CreateButton } from '../../../ui/button.js';
import { CopyButton } from '../../../ui/copy.js';
import { ConfirmDialog, Dialog, FormDialog } from '../../../ui/dialog.js';
import { CheckField, EmailField, TextField } from '../../../ui/field.js';
import { Card, Empty, PageHeader } from '../../../ui/layout.js';
import { ActionMenu } from '../../../ui/menu.js';
import { ErrorNotice, fieldError, FormError } from '../../../ui/notice.js';
import { DataTable } from '../../../ui/table.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';
import { Listed } from '../../billing/parts.js';
import { MailNotice } from '../../users/members/mail-notice.js';
import { SearchField } from '../search-field.js';

type Action = 'link' | 'revokeSessions' | 'resetFactors' | 'disable' | 'enable' | 'promote' | 'demote';

interface PendingAction {
  readonly user: OperatorUser;
  readonly action: Action;
}

interface ShownLink {
  readonly email: string;
  readonly link: SignInLink;
}

export default function Users() {
  const t = useText(usersText);
  const client = useQueryClient();
  const [params, setParams] = useSearchParams();
  const search = params.get('q') ?? '';
  const [isAdding, setAdding] = useState(false);
  const [pending, setPending] = useState<PendingAction>();
  const [link, setLink] = useState<ShownLink>();
  const act = useMutation({
    async mutationFn({ user, action }: PendingAction) {
      if (action === 'link') return setLink({ email: user.email, link: await createLink(user.id) });
      if (action === 'revokeSessions') return toast(t.ended({ count: (await endAllSessions(user.id)).ended }));
      if (action === 'resetFactors') {
        await resetSecondFactors(user.id);
        return toast(t.changed);
      }
      await updateUser(
        user.id,
        { disable: { is_disabled: true }, enable: { is_disabled: false }, promote: { is_operator: true }, demote: { is_operator: false } }[
          action
        ],
      );
      return toast(t.changed);
    },
    async onSettled() {
      setPending(undefined);
      await client.invalidateQueries({ queryKey: operatorKeys.users });
    },
  });
  // Actions that remove something, or that grant all rights, require a confirmation.
  const start = (next: PendingAction): void => (next.action === 'link' || next.action === 'enable' ? act.mutate(next) : setPending(next));
  return (
    <>
      <PageHeader
        title={t.title}
        description={t.description}
        actions={<CreateButton onClick={() => setAdding(true)}>{t.add}</CreateButton>}
      />
      <div className="mb-4">
        <SearchField label={t.search} value={search} onChange={(q) => setParams(q === '' ? {} : { q }, { replace: true })} />
      </div>
      {act.error !== null && <ErrorNotice error={act.error} />}
      <Listed queryKey={[...operatorKeys.users, search]} fetch={(cursor, signal) => listUsers(search, cursor, signal)}>
        {(pages) => {
          const users = pages.flatMap(({ data }) => data);
          return users.length === 0 ? <Empty title={t.none} /> : <UserTable users={users} onAct={start} />;
        }}
      </Listed>
      {isAdding && (
        <AddDialog
          onClose={() => setAdding(false)}
          onAdded={(shown) => {
            setAdding(false);
            setLink(shown);
          }}
        />
      )}
      {pending !== undefined && (
        <Confirm pending={pending} busy={act.isPending} onClose={() => setPending(undefined)} onConfirm={() => act.mutate(pending)} />
      )}
      {link !== undefined && <LinkDialog {...link} onClose={() => setLink(undefined)} />}
    </>
  );
}

function UserTable({ users, onAct }: { users: readonly OperatorUser[]; onAct: (pending: PendingAction) => void }) {
  const t = useText(usersText);
  const { user: self } = useMe();
  return (
    <Card flush>
      <DataTable
        caption={t.title}
        rows={users}
        rowKey={({ id }) => id}
        columns={[
          {
            name: t.email,
            className: 'wrap-anywhere',
            cell: ({ email, email_verified }) => (
              <>
                {email} {!email_verified && <Badge>{t.unverified}</Badge>}
              </>
            ),
          },
          { name: t.name, className: 'wrap-anywhere', cell: ({ name }) => name },
          {
            name: t.state,
            cell: ({ is_disabled, has_password, is_operator, has_second_factor }) => (
              <span className="flex flex-wrap gap-1.5 xl:flex-nowrap">
                {is_disabled ? (
                  <Badge icon="stopped">{t.disabled}</Badge>
                ) : (
                  <Badge tone="good" icon="ok">
                    {has_password ? t.active : t.noPassword}
                  </Badge>
                )}
                {is_operator && <Badge tone="info">{t.operator}</Badge>}
                {has_second_factor && <Badge>{t.secondFactor}</Badge>}
              </span>
            ),
          },
          { name: t.created, className: 'whitespace-nowrap', cell: ({ created_at }) => <When at={created_at} style="day" /> },
          {
            name: t.actionsOf({ email: '' }).trim(),
            hideName: true,
            className: 'num',
            cell: (user) => {
              const on = (action: Action) => () => onAct({ user, action });
              return (
                <ActionMenu
                  label={t.actionsOf({ email: user.email })}
                  actions={[
                    !user.is_disabled && { label: t.link, onSelect: on('link') },
                    { label: t.revokeSessions, onSelect: on('revokeSessions') },
                    user.has_second_factor && { label: t.resetFactors, danger: true, onSelect: on('resetFactors') },
                    user.is_operator
                      ? { label: t.demote, danger: true, onSelect: on('demote') }
                      : { label: t.promote, onSelect: on('promote') },
                    user.is_disabled
                      ? { label: t.enable, onSelect: on('enable') }
                      : { label: t.disable, danger: true, disabled: user.id === self.id, onSelect: on('disable') },
                  ]}
                />
              );
            },
          },
        ]}
      />
    </Card>
  );
}

function Confirm({
  pending: { user, action },
  busy,
  onClose,
  onConfirm,
}: {
  pending: PendingAction;
  busy: boolean;
  onClose: () => void;
  onConfirm: () => void;
}) {
  const t = useText(usersText);
  const { email } = user;
  const words = {
    revokeSessions: [t.endSessionsTitle({ email }), undefined, t.revokeSessions],
    resetFactors: [t.resetFactorsTitle({ email }), t.resetFactorsAbout, t.resetFactors],
    disable: [t.disableTitle({ email }), t.disableAbout, t.disable],
    promote: [t.promoteTitle({ email }), user.email_verified ? t.promoteAbout : t.promoteUnverified({ email }), t.promote],
    demote: [t.demoteTitle({ email }), undefined, t.demote],
  } as const;
  if (!(action in words)) return null;
  const [title, description, confirm] = words[action as keyof typeof words];
  return (
    <ConfirmDialog open onClose={onClose} onConfirm={onConfirm} title={title} description={description} confirm={confirm} busy={busy} />
  );
}

function AddDialog({ onClose, onAdded }: { onClose: () => void; onAdded: (link: ShownLink | undefined) => void }) {
  const t = useText(usersText);
  const client = useQueryClient();
  const [fields, setFields] = useState({ email: '', name: '', password: '', isOperator: false });
  const add = useMutation({
    mutationFn: () =>
      createUser({
        email: fields.email,
        is_operator: fields.isOperator,
        ...(fields.name === '' ? {} : { name: fields.name }),
        ...(fields.password === '' ? {} : { password: fields.password }),
      }),
    async onSuccess({ user, link }) {
      await client.invalidateQueries({ queryKey: operatorKeys.users });
      toast(t.added);
      onAdded(link === null ? undefined : { email: user.email, link });
    },
  });
  return (
    <FormDialog onClose={onClose} title={t.add} submit={t.add} busy={add.isPending} onSubmit={() => add.mutate()}>
      <FormError error={add.error} fields={['email', 'name', 'password']} />
      <EmailField
        label={t.email}
        value={fields.email}
        onChange={(event) => setFields({ ...fields, email: event.target.value })}
        error={fieldError(add.error, 'email')}
      />
      <TextField
        label={t.name}
        optional
        value={fields.name}
        onChange={(event) => setFields({ ...fields, name: event.target.value })}
        error={fieldError(add.error, 'name')}
        maxLength={200}
      />
      <TextField
        label={t.password}
        hint={t.passwordHint}
        optional
        type="password"
        autoComplete="new-password"
        value={fields.password}
        onChange={(event) => setFields({ ...fields, password: event.target.value })}
        error={fieldError(add.error, 'password')}
      />
      <CheckField label={t.isOperator} checked={fields.isOperator} onChange={(isOperator) => setFields({ ...fields, isOperator })} />
    </FormDialog>
  );
}

function LinkDialog({ email, link, onClose }: ShownLink & { onClose: () => void }) {
  const t = useText(usersText);
  const shown = useRef<HTMLElement>(null);
  return (
    <Dialog
      sticky
      onClose={onClose}
      title={t.linkTitle}
      description={t.linkAbout({ email })}
      footer={<Button onClick={onClose}>{t.done}</Button>}
    >
      <MailNotice email={email} mail={link.mail} />
      <p className="mb-3">
        <code ref={shown} className="wrap-anywhere">
          {link.url}
        </code>
      </p>
      <CopyButton look="primary" text={link.url} source={shown} />
    </Dialog>
  );
}
