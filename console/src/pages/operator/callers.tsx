// The processes outside the installation that may call its services, for operators. The command adds and changes them.
import { type Caller, listCallers, operatorKeys } from '../../api/operator.js';
import { callersText } from '../../i18n/operator-callers.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { Card, Empty, PageHeader } from '../../ui/layout.js';
import { ShortId } from '../../ui/short-id.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { Listed } from '../billing/parts.js';

const addCommand = './tollgate caller add billing-team --may ledger.read';

export default function Callers() {
  const t = useText(callersText);
  return (
    <>
      <PageHeader title={t.title} description={t.description} />
      <Listed queryKey={operatorKeys.callers} fetch={(_cursor, signal) => listCallers(signal)}>
        {(pages) => {
          const callers = pages.flatMap(({ data }) => data);
          if (callers.length > 0) return <CallerTable callers={callers} />;
          return (
            <Empty title={t.none}>
              <p>{t.add}</p>
              <code className="wrap-anywhere">{addCommand}</code>
            </Empty>
          );
        }}
      </Listed>
    </>
  );
}

function CallerTable({ callers }: { callers: readonly Caller[] }) {
  const t = useText(callersText);
  return (
    <Card flush>
      <DataTable
        caption={t.title}
        rows={callers}
        rowKey={({ name }) => name}
        room="much"
        columns={[
          {
            name: t.name,
            className: 'wrap-anywhere',
            cell: ({ name, identity }) => (
              <>
                {name}
                <span className="block font-normal text-soft">
                  {identity?.split(/(?<=\/)/).map((part, index) => [<wbr key={index} />, part])}
                </span>
              </>
            ),
          },
          { name: t.grants, className: 'wrap-anywhere', cell: ({ grants }) => grants.join(', ') },
          {
            name: t.accounts,
            cell: ({ account_ids }) =>
              account_ids?.map((id) => (
                <span key={id} className="block">
                  <ShortId id={id} to={`/operator/accounts/${id}`} />
                </span>
              )) ?? t.allAccounts,
          },
          { name: t.lastSeen, cell: ({ last_seen_at }) => (last_seen_at === null ? t.never : <When at={last_seen_at} />) },
          {
            name: t.certificate,
            cell: ({ certificate_expires_at: at }) => (at === null ? t.otherPki : <When at={at} style="day" />),
          },
          {
            name: t.state,
            cell: ({ revoked_at }) =>
              revoked_at === null ? (
                <Badge tone="good" icon="ok">
                  {t.active}
                </Badge>
              ) : (
                <Badge icon="stopped">{t.revoked}</Badge>
              ),
          },
        ]}
      />
    </Card>
  );
}
