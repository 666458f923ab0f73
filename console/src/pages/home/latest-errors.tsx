// The newest calls that failed, each with its record.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { listErrors, type UsageRecord } from '../../api/usage.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Card, Section } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { Usd, When } from '../../ui/values.js';
import { EndingBadge } from '../usage/ending.js';

const shown = 5;
const errorsMs = 5000;

export function LatestErrors() {
  const account = useAccount();
  const t = useText(homeText);
  const query = useQuery({ queryKey: ['usage', account.id, 'errors'], queryFn: ({ signal }) => listErrors(account.id, shown, signal), refetchInterval: errorsMs });
  return (
    <Section
      title={t.errors}
      actions={
        <Link className="link" to={account.path('/usage/records')}>
          {t.allRecords}
        </Link>
      }
    >
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-soft">{t.noErrors}</p>
          ) : (
            <Card flush>
              <DataTable<UsageRecord>
                caption={t.errors}
                rows={data}
                rowKey={({ request_id }) => request_id}
                columns={[
                  {
                    name: t.time,
                    cell: (record) => (
                      <Link className="link" to={account.path(`/usage/records/${record.request_id}`)}>
                        <When at={record.started_at} />
                      </Link>
                    ),
                  },
                  { name: t.model, cell: ({ model }) => <code>{model}</code> },
                  {
                    name: t.ending,
                    cell: ({ ending, ending_detail: detail }) => (
                      <span className="inline-flex flex-wrap items-center gap-1.5">
                        <EndingBadge ending={ending} />
                        {detail !== null && <span className="text-soft wrap-anywhere">{detail}</span>}
                      </span>
                    ),
                  },
                  { name: t.charge, numeric: true, cell: (record) => <Usd value={record.charge_usd} /> },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
    </Section>
  );
}
