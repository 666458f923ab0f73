// How fast and how reliable calls are, by model, and for operators by upstream.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getPerformance, type UsagePerformance } from '../../../api/usage.js';
import { durationText } from '../../../format/duration.js';
import { useNumber } from '../../../format/number.js';
import { useOffsetAt } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount, useMe } from '../../../session/account.js';
import { Card, Section } from '../../../ui/layout.js';
import { SkeletonRows } from '../../../ui/notice.js';
import { QueryFault } from '../../../ui/query.js';
import { Segmented } from '../../../ui/segmented.js';
import { DataTable } from '../../../ui/table.js';
import { useView } from '../use-view.js';
import { boundsOf, filterOf, type Range } from '../view.js';

type Group = UsagePerformance['data'][number];
const staleMs = 30_000;

export default function Performance({ range }: { range: Range }) {
  const t = useText(usageText);
  const account = useAccount();
  const { is_operator: isOperator } = useMe().user;
  const count = useNumber();
  const offsetAt = useOffsetAt();
  const [view] = useView();
  const [group, setGroup] = useState<'model' | 'upstream'>('model');
  const filter = { ...filterOf(view, boundsOf(range, Date.now(), offsetAt)), group_by: group };
  const query = useQuery({
    queryKey: ['usage', account.id, 'performance', filter],
    queryFn: ({ signal }) => getPerformance(account.id, filter, signal),
    staleTime: staleMs,
    placeholderData: keepPreviousData,
  });
  const share = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)}%`);
  const time = (percentiles: Group['duration'], name: 'p50_ms' | 'p95_ms'): string =>
    percentiles === null ? '–' : durationText(percentiles[name]);
  const { data } = query;
  return (
    <Section
      title={t.performance}
      description={data?.newest_only === true ? t.performanceNewest : t.performanceAbout}
      actions={
        isOperator && (
          <Segmented<'model' | 'upstream'>
            label={t.groupBy}
            value={group}
            onChange={setGroup}
            options={[
              { value: 'model', label: t.model },
              { value: 'upstream', label: t.upstream },
            ]}
          />
        )
      }
    >
      <QueryFault query={query} />
      {data === undefined
        ? query.error === null && <SkeletonRows rows={4} />
        : data.data.length > 0 && (
            <Card flush>
              <DataTable<Group>
                caption={t.performance}
                room="much"
                dense
                rows={data.data}
                rowKey={({ name }) => name}
                columns={[
                  {
                    name: group === 'model' ? t.model : t.upstream,
                    className: 'cut wide',
                    cell: ({ name }) => <span title={name}>{name}</span>,
                  },
                  { name: t.calls, numeric: true, cell: ({ calls }) => count(calls) },
                  { name: t.errorRate, numeric: true, cell: ({ errors, calls }) => share(errors, calls) },
                  { name: t.durationP50, numeric: true, cell: ({ duration }) => time(duration, 'p50_ms') },
                  { name: t.durationP95, numeric: true, cell: ({ duration }) => time(duration, 'p95_ms') },
                  { name: t.firstP50, numeric: true, cell: ({ first_output }) => time(first_output, 'p50_ms') },
                  { name: t.firstP95, numeric: true, cell: ({ first_output }) => time(first_output, 'p95_ms') },
                  {
                    name: t.cacheHits,
                    numeric: true,
                    cell: ({ cache_read_tokens, input_tokens }) => share(cache_read_tokens, input_tokens),
                  },
                ]}
              />
            </Card>
          )}
    </Section>
  );
}
