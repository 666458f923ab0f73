// The models and keys that cost the most.
import { useQueries, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { getKey } from '../../api/keys.js';
import { getTotals, type UsageTotal } from '../../api/usage.js';
import { startOfDayAgo } from '../../format/calendar.js';
import { useNumber } from '../../format/number.js';
import { useOffsetAt } from '../../format/time.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Card, Section } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { shortId } from '../../ui/short-id.js';
import { DataTable } from '../../ui/table.js';
import { keyKey } from '../keys/queries.js';

const shown = 5;
const sumsMs = 10_000;

function useTop(groupBy: 'model' | 'key') {
  const account = useAccount();
  const from = new Date(startOfDayAgo(29, Date.now(), useOffsetAt())).toISOString();
  return useQuery({
    queryKey: ['usage', account.id, 'top', groupBy, from],
    queryFn: ({ signal }) => getTotals(account.id, { from, group_by: groupBy }, signal),
    refetchInterval: sumsMs,
  });
}

export function TopModels() {
  const account = useAccount();
  const t = useText(homeText);
  const query = useTop('model');
  const link = (name: string): ReactNode => (
    <Link className="link" to={account.path(`/usage/records?model=${encodeURIComponent(name)}&range=30d`)}>
      {name}
    </Link>
  );
  return <Top title={t.topModels} name={t.model} all={[t.allUsage, '/usage']} query={query} cell={link} />;
}

export function TopKeys() {
  const account = useAccount();
  const t = useText(homeText);
  const query = useTop('key');
  const ids = (query.data?.data ?? []).slice(0, shown).map(({ name }) => name!);
  const keys = useQueries({
    queries: ids.map((id) => ({
      queryKey: keyKey(account.id, id),
      queryFn: ({ signal }: { signal: AbortSignal }) => getKey(account.id, id, signal),
      staleTime: 60_000,
    })),
  });
  const nameOf = (id: string): string => {
    const { data, isPending = false } = keys[ids.indexOf(id)] ?? {};
    return data?.name ?? (isPending ? '…' : shortId(id));
  };
  const link = (id: string): ReactNode => (
    <Link className="link" to={account.path(`/keys/${id}`)}>
      {nameOf(id)}
    </Link>
  );
  return <Top title={t.topKeys} name={t.key} all={[t.allKeys, '/keys']} query={query} cell={link} />;
}

function Top({
  title,
  name,
  all,
  query,
  cell,
}: {
  title: string;
  name: string;
  all: readonly [string, string];
  query: ReturnType<typeof useTop>;
  cell: (name: string) => ReactNode;
}) {
  const account = useAccount();
  const t = useText(homeText);
  const count = useNumber();
  return (
    <Section
      title={title}
      actions={
        <Link className="link" to={account.path(all[1])}>
          {all[0]}
        </Link>
      }
    >
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-soft">{t.noCalls}</p>
          ) : (
            <Card flush>
              <DataTable<UsageTotal>
                caption={title}
                plain
                rows={data.slice(0, shown)}
                rowKey={(total) => total.name ?? ''}
                columns={[
                  { name, className: 'wrap-anywhere', cell: (total) => cell(total.name ?? '') },
                  { name: t.calls, numeric: true, cell: ({ calls }) => count(calls) },
                  { name: t.spend, usd: (total) => total.charge_usd, rounded: true },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
    </Section>
  );
}
