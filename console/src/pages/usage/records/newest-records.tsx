// A short table of the newest calls, each linked to its record.
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { UsageRecord } from '../../../api/usage.js';
import { useAccount } from '../../../session/account.js';
import { Card, Section } from '../../../ui/layout.js';
import { Fetched } from '../../../ui/query.js';
import { DataTable } from '../../../ui/table.js';
import { When } from '../../../ui/values.js';
import { OutcomeDot } from '../outcome.js';

/** The texts are passed by the page, so that this component needs no dictionary. */
interface Props {
  readonly query: UseQueryResult<{ readonly data: readonly UsageRecord[] }>;
  readonly title: string;
  /** Shown if there are no calls. */
  readonly none: string;
  readonly all: { readonly name: string; readonly path: string };
  readonly columns: Readonly<Record<'time' | 'model' | 'outcome' | 'charge', string>>;
  /** Whether to show the reason for the outcome next to it. */
  readonly withDetail?: boolean;
}

export function NewestRecords({ query, title, none, all, columns, withDetail = false }: Props) {
  const account = useAccount();
  return (
    <Section
      title={title}
      actions={
        <Link className="link" to={account.path(all.path)}>
          {all.name}
        </Link>
      }
    >
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-soft">{none}</p>
          ) : (
            <Card flush>
              <DataTable<UsageRecord>
                caption={title}
                dense
                className="two-lines"
                rows={data}
                rowKey={({ request_id }) => request_id}
                columns={[
                  {
                    name: columns.time,
                    className: 'line-1 grow',
                    cell: (record) => (
                      <Link className="link" to={account.path(`/usage/records/${record.request_id}`)}>
                        <When at={record.started_at} style="line" />
                      </Link>
                    ),
                  },
                  { name: columns.model, className: 'line-2 cut wide', cell: ({ model }) => <span title={model}>{model}</span> },
                  {
                    name: columns.outcome,
                    className: 'line-2 cut widest',
                    cell: ({ outcome, outcome_detail: detail }) => (
                      <>
                        <OutcomeDot outcome={outcome} />
                        {withDetail && detail !== null && <span className="text-soft"> · {detail}</span>}
                      </>
                    ),
                  },
                  { name: columns.charge, className: 'line-1', usd: (record) => record.charge_usd, rounded: true },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
    </Section>
  );
}
