// The recent usage of a key or a project.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { listRecords } from '../../api/usage.js';
import { axisUsd, usdOfNano, usdText } from '../../format/money.js';
import { useNumber } from '../../format/number.js';
import { useOffsetAt, useZone } from '../../format/time.js';
import { keysText } from '../../i18n/keys.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Section, Stat, Stats } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { StackedBars } from '../../ui/charts/stacked-bars.js';
import { Usd } from '../../ui/values.js';
import { allTokens, sumOf } from '../usage/overview/figures.js';
import { NewestRecords } from '../usage/records/newest-records.js';
import { fetchOverview, type OverviewSlots } from '../usage/overview/overview-query.js';
import { useZoneName } from '../usage/use-view.js';
import { readView } from '../usage/view.js';

const range = '30d';
const recordsShown = 5;
const sumsMs = 10_000;

/** The key or project whose usage is shown. */
type Filter = { readonly key: string } | { readonly project: string };
const queryOf = (filter: Filter): string => new URLSearchParams({ ...filter }).toString();

export function UsageOf({ filter }: { filter: Filter }) {
  const account = useAccount();
  const t = useText(keysText);
  const zone = useZone();
  const offsetAt = useOffsetAt();
  const count = useNumber();
  const query = useQuery({
    queryKey: ['usage', account.id, 'of', filter, zone],
    queryFn: ({ signal }) => fetchOverview(account.id, { ...readView(''), ...filter, group: 'key', grain: 'day' }, range, offsetAt, signal),
    refetchInterval: sumsMs,
  });
  return (
    <>
      <Section
        title={t.usage30}
        actions={
          <Link className="link" to={account.path(`/usage?range=${range}&${queryOf(filter)}`)}>
            {t.seeUsage}
          </Link>
        }
      >
        <Fetched query={query}>
          {({ total, chart }) => (
            <>
              <Stats>
                <Stat label={t.spend} value={<Usd value={total.charge_usd} />} />
                <Stat label={t.calls} value={count(total.calls)} />
                <Stat label={t.inputTokens} value={count(allTokens(total.tokens) - total.tokens.output)} />
                <Stat label={t.outputTokens} value={count(total.tokens.output)} />
              </Stats>
              {total.calls > 0 && chart !== undefined && <SpendByDay chart={chart} />}
            </>
          )}
        </Fetched>
      </Section>
      <LatestCalls filter={filter} />
    </>
  );
}

function SpendByDay({ chart: { ids, slots } }: { chart: OverviewSlots }) {
  const t = useText(keysText);
  const zoneName = useZoneName();
  const day = new Intl.DateTimeFormat(useLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const spent = ids.map((id) => sumOf(slots.get(id)?.values() ?? []).nanoUsd);
  const text = (bar: number): string => usdText(usdOfNano(spent[bar]!));
  return (
    <StackedBars
      title={t.spendByDay({ zone: zoneName() })}
      series={[t.spend]}
      bars={ids.map((id, index) => ({ id, label: day.format(Date.parse(id)), values: [Number(spent[index]!)] }))}
      text={text}
      totalText={text}
      axisText={axisUsd}
      labelName={t.day}
      totalName={t.spend}
    />
  );
}

function LatestCalls({ filter }: { filter: Filter }) {
  const account = useAccount();
  const t = useText(keysText);
  const query = useQuery({
    queryKey: ['usage', account.id, 'latest', filter],
    queryFn: ({ signal }) => listRecords(account.id, { ...filter, limit: recordsShown }, signal),
    refetchInterval: liveMs,
  });
  const all = { name: 'key' in filter ? t.allRecords : t.allRecordsOfProject, path: `/usage/records?${queryOf(filter)}` };
  return <NewestRecords query={query} title={t.latestCalls} none={t.noCalls} all={all} columns={t} />;
}
