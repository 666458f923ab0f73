// The audit log of the account, newest first, filtered by actor.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import { listManagementKeys } from '../../../api/management-keys.js';
import { type AuditEvent, listAuditEvents, listMembers } from '../../../api/users.js';
import { commonText } from '../../../i18n/common.js';
import { auditActions } from '../../../i18n/audit.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { type AccountInUse, useAccount } from '../../../session/account.js';
import { Button } from '../../../ui/button.js';
import { SelectField } from '../../../ui/field.js';
import { Card, Empty, PageHeader } from '../../../ui/layout.js';
import { Loading, Notice } from '../../../ui/notice.js';
import { QueryFault } from '../../../ui/query.js';
import { type Column, DataTable } from '../../../ui/table.js';
import { When } from '../../../ui/values.js';
import { targetText } from './audit-detail.js';
import { DetailList } from './detail-list.js';
import { RequestLink } from '../../billing/parts.js';
import { managementKeysKey } from '../../management-keys/queries.js';
import { useProjects } from '../../projects/queries.js';
import { membersKey } from '../query-keys.js';

export default function AuditPage() {
  const t = useText(membersText);
  const account = useAccount();
  return (
    <>
      <PageHeader title={t.auditTitle} description={t.auditDescription} />
      {account.can('change members') ? <Entries account={account} /> : <Notice tone="warn">{t.auditForbidden}</Notice>}
    </>
  );
}

function Entries({ account }: { account: AccountInUse }) {
  const t = useText(membersText);
  const common = useText(commonText);
  const actions: Readonly<Record<string, string>> = useText(auditActions);
  const members = useQuery({ queryKey: membersKey(account.id), queryFn: ({ signal }) => listMembers(account.id, signal) });
  const keys = useQuery({ queryKey: managementKeysKey(account.id), queryFn: ({ signal }) => listManagementKeys(account.id, signal) });
  const [params, setParams] = useSearchParams();
  const actor = params.get('actor') ?? '';
  const query = useInfiniteQuery({
    queryKey: ['audit', account.id, actor],
    queryFn: ({ pageParam: cursor, signal }) => listAuditEvents(account.id, { actor, cursor }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  });
  const projects = new Map(useProjects().data?.map(({ id, name }) => [id, name]));
  const nameOf = (id: string): string | undefined => projects.get(id);
  const emailOf = (id: string): string | undefined => members.data?.data.find((member) => member.id === id)?.email;
  const columns: readonly Column<AuditEvent>[] = [
    { name: t.at, cell: (entry) => <When at={entry.at} style="line" />, className: 'whitespace-nowrap' },
    {
      name: t.actor,
      className: 'md:min-w-36 xl:whitespace-nowrap',
      cell: (entry) => <span className="wrap-anywhere">{entry.actor ?? t.operator}</span>,
    },
    {
      name: t.what,
      className: 'md:min-w-48',
      cell: (entry) => (
        <>
          {actions[entry.action] ?? <code>{entry.action}</code>}{' '}
          <Target entry={entry} account={account} text={targetText(entry, emailOf(entry.target_id))} />
        </>
      ),
    },
    {
      name: t.details,
      cell: (entry) => <DetailList detail={entry.detail} said={targetText(entry, emailOf(entry.target_id))} nameOf={nameOf} />,
    },
    { name: t.address, className: 'text-soft whitespace-nowrap', cell: (entry) => entry.address },
  ];
  const rows = query.data?.pages.flatMap(({ data }) => data);
  const actors = new Map([
    ['', t.anyActor],
    ...(members.data?.data ?? []).map(({ id, email }) => [id, email] as const),
    ...(keys.data?.data ?? []).map(({ id, name }) => [id, t.actorKey({ name })] as const),
    ['operator', t.actorOperator],
  ]);
  // Former members, and operators who are not members.
  for (const { actor_user_id: id, actor: name } of rows ?? []) if (id !== null && !actors.has(id)) actors.set(id, name ?? id);
  if (!actors.has(actor)) actors.set(actor, actor);
  return (
    <>
      <SelectField
        label={t.actor}
        className="mb-4 max-w-sm"
        value={actor}
        onChange={(value) => setParams(value === '' ? {} : { actor: value })}
        options={[...actors].map(([value, label]) => ({ value, label }))}
      />
      <QueryFault query={query} />
      {rows === undefined ? (
        query.error === null && <Loading />
      ) : rows.length === 0 ? (
        actor === '' ? (
          <Empty title={t.auditEmpty}>{t.auditEmptyHint}</Empty>
        ) : (
          <Empty title={t.auditNone} />
        )
      ) : (
        <Card flush>
          <DataTable caption={t.auditTitle} columns={columns} rows={rows} rowKey={({ id }) => id} />
        </Card>
      )}
      {query.hasNextPage && (
        <div className="mt-4">
          <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {common.loadMore}
          </Button>
        </div>
      )}
    </>
  );
}

/** The target: its name if the log has one, otherwise the end of its id; a key with a link. */
function Target({ entry, account, text }: { entry: AuditEvent; account: AccountInUse; text: string }) {
  const id = entry.target_id;
  if (id === account.id) return null;
  if (id.startsWith('key_')) {
    return (
      <Link to={account.path(`/keys/${id}`)} className="link wrap-anywhere" title={id}>
        {text}
      </Link>
    );
  }
  if (id.startsWith('req_')) return <RequestLink requestId={id} />;
  return (
    <span className={text.startsWith('…') ? 'whitespace-nowrap' : 'wrap-anywhere'} title={id}>
      {text}
    </span>
  );
}
