// The user's sessions.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endOtherSessions, endSession, listSessions, type Session } from '../../api/users.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { queryClient } from '../../session/queries.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Card, Section } from '../../ui/layout.js';
import { FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { type Column, DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toasts/toast.js';
import { When } from '../../ui/values.js';
import { sessionsKey } from '../users/query-keys.js';

export function SessionsSection() {
  const t = useText(settingsText);
  const query = useQuery({ queryKey: sessionsKey, queryFn: ({ signal }) => listSessions(signal) });
  const [isAsking, setAsking] = useState(false);
  const changed = () => queryClient.invalidateQueries({ queryKey: sessionsKey });
  const end = useMutation({
    mutationFn: endSession,
    async onSuccess() {
      toast(t.ended);
      await changed();
    },
  });
  const endOthers = useMutation({
    mutationFn: endOtherSessions,
    async onSuccess({ ended }) {
      setAsking(false);
      toast(t.endedOthers({ count: ended }));
      await changed();
    },
  });
  const nameOf = ({ browser, system, user_agent: userAgent }: Session): string => {
    if (browser === null) return system ?? (userAgent === '' ? t.unknownBrowser : userAgent.slice(0, 60));
    return system === null ? browser : t.deviceOn({ browser, system });
  };
  const columns: readonly Column<Session>[] = [
    {
      name: t.device,
      cell: (session) => (
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="wrap-anywhere">{nameOf(session)}</span>
          {session.present && (
            <Badge tone="good" icon="ok">
              {t.here}
            </Badge>
          )}
          {session.address !== '' && <span className="text-sm font-normal text-soft wrap-anywhere">{session.address}</span>}
        </span>
      ),
    },
    { name: t.lastUsed, cell: (session) => <When at={session.last_used_at} style="relative" /> },
    { name: t.begun, cell: (session) => <When at={session.created_at} /> },
    {
      name: t.end,
      hideName: true,
      cell: (session) =>
        !session.present && (
          <Button
            size="small"
            busy={end.isPending && end.variables === session.id}
            onClick={() => end.mutate(session.id)}
            aria-label={t.endOf({ browser: nameOf(session) })}
          >
            {t.end}
          </Button>
        ),
    },
  ];
  return (
    <Section
      title={t.sessions}
      description={t.sessionsHint}
      actions={(query.data?.data.length ?? 0) > 1 && <Button onClick={() => setAsking(true)}>{t.endOthers}</Button>}
    >
      <FormError error={end.error} />
      <Fetched query={query}>
        {({ data }) => (
          <Card flush>
            <DataTable
              caption={t.sessions}
              columns={columns}
              rows={[...data].sort((one, other) => Number(other.present) - Number(one.present))}
              rowKey={({ id }) => id}
            />
          </Card>
        )}
      </Fetched>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => endOthers.mutate()}
        title={t.endOthersTitle}
        description={t.endOthersHint}
        confirm={t.endOthers}
        busy={endOthers.isPending}
      >
        <FormError error={endOthers.error} />
      </ConfirmDialog>
    </Section>
  );
}
