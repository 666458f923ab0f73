// The spend of this month, daily or cumulative, compared with the previous month and the budget.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { getAccountBudgets } from '../../api/projects.js';
import { addDays, dayOf, startOfDay } from '../../format/calendar.js';
import { axisUsd, nanoUsdOf, usdOfNano, usdText } from '../../format/money.js';
import { useOffsetAt, useZone } from '../../format/time.js';
import { homeText } from '../../i18n/home.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Card, Section } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { Segmented } from '../../ui/segmented.js';
import { type LineOfChart, StackedBars } from '../../ui/charts/stacked-bars.js';
import { Usd } from '../../ui/values.js';
import { accountBudgetsKey } from '../projects/queries.js';
import { chartOf, runningSums, sumOf } from '../usage/overview/figures.js';
import { fetchOverview, type Overview } from '../usage/overview/overview-query.js';
import { readView } from '../usage/view.js';

const refreshMs = 10_000;
/** A budget far above what is spent would leave no room for the bars. */
const budgetTimesMax = 4n;

/** The first days of this month and of the next one. */
function useMonth(): { readonly first: string; readonly next: string; readonly today: string } {
  const today = dayOf(Date.now(), useOffsetAt());
  const first = `${today.slice(0, 8)}01`;
  return { first, next: `${addDays(first, 31).slice(0, 8)}01`, today };
}

export function Spend() {
  const account = useAccount();
  const t = useText(homeText);
  const zone = useZone();
  const offsetAt = useOffsetAt();
  const { first, next } = useMonth();
  const [isAdded, setAdded] = useState(true);
  const query = useQuery({
    queryKey: ['usage', account.id, 'month', first, zone],
    queryFn({ signal }) {
      const range = {
        from: new Date(startOfDay(first, offsetAt)).toISOString(),
        until: new Date(startOfDay(next, offsetAt)).toISOString(),
      };
      return fetchOverview(account.id, { ...readView(''), grain: 'day', compare: true }, range, offsetAt, signal);
    },
    refetchInterval: refreshMs,
  });
  return (
    <Section
      title={t.spendOverTime}
      actions={
        <>
          <Segmented<'added' | 'daily'>
            label={t.spendOverTime}
            value={isAdded ? 'added' : 'daily'}
            onChange={(choice) => setAdded(choice === 'added')}
            options={[
              { value: 'added', label: t.addedUp },
              { value: 'daily', label: t.daily },
            ]}
          />
          <Link className="link self-center" to={account.path('/usage?range=month')}>
            {t.allUsage}
          </Link>
        </>
      }
    >
      <Card>
        <Fetched query={query}>{(overview) => <Chart overview={overview} isAdded={isAdded} />}</Fetched>
      </Card>
    </Section>
  );
}

function Chart({ overview: { total, groups, chart, previous = [] }, isAdded }: { overview: Overview; isAdded: boolean }) {
  const account = useAccount();
  const t = useText(homeText);
  const { today } = useMonth();
  const day = new Intl.DateTimeFormat(useLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const budgets = useQuery({
    queryKey: accountBudgetsKey(account.id),
    queryFn: ({ signal }) => getAccountBudgets(account.id, signal),
    enabled: account.can('look'),
  });
  const budget = budgets.data?.budgets.find(({ period }) => period === 'month');
  if (chart === undefined) return null;
  const { ids } = chart;
  const {
    series,
    rows: daily,
    others,
  } = chartOf(
    chart.slots,
    ids,
    groups.map(({ name }) => name ?? ''),
  );
  const rows = isAdded ? runningSums(daily) : daily;
  const otherRows = isAdded ? runningSums(others.rows) : others.rows;
  const before = (isAdded ? runningSums(previous.map((figures) => [figures])) : previous.map((figures) => [figures])).map(
    ([figures]) => figures!,
  );
  const text = (nano: bigint): string => usdText(usdOfNano(nano));
  const isToCome = (bar: number): boolean => ids[bar]! > today;
  const textOf = (bar: number, nano: bigint): string => (isToCome(bar) ? '–' : text(nano));
  const previousTotal = sumOf(previous).nanoUsd;
  const lines: LineOfChart[] = [];
  if (previousTotal > 0n) {
    lines.push({
      name: t.lastMonth,
      values: ids.map((_, bar) => (before[bar] === undefined ? undefined : Number(before[bar].nanoUsd))),
      text: (bar) => (before[bar] === undefined ? '–' : text(before[bar].nanoUsd)),
    });
  }
  const limit = budget === undefined ? 0n : nanoUsdOf(budget.limit_usd);
  const largest = [nanoUsdOf(total.charge_usd), previousTotal, 1n].reduce((a, b) => (a > b ? a : b));
  if (budget !== undefined && isAdded && limit <= largest * budgetTimesMax)
    lines.push({ name: t.budget, values: ids.map(() => Number(limit)), text: () => usdText(budget.limit_usd), isSolid: true });
  return (
    <>
      <dl className="mb-4 flex flex-wrap gap-x-8 gap-y-2">
        <Figure name={t.thisMonth} usd={total.charge_usd} strong />
        <Figure name={t.lastMonth} usd={usdOfNano(previousTotal)} />
        {budget?.left_usd != null && <Figure name={t.budgetLeft({ limit: usdText(budget.limit_usd) })} usd={budget.left_usd} />}
      </dl>
      {total.calls > 0 || previousTotal > 0n ? (
        <StackedBars
          title={isAdded ? t.spendAddedUp : t.spendDaily}
          series={series.map((name) => name ?? t.other)}
          bars={ids.map((id, bar) => ({
            id,
            label: day.format(Date.parse(id)),
            // Days to come are empty.
            values: isToCome(bar) ? series.map(() => 0) : rows[bar]!.map(({ nanoUsd }) => Number(nanoUsd)),
          }))}
          text={(bar, at) => textOf(bar, rows[bar]![at]!.nanoUsd)}
          totalText={(bar) => textOf(bar, sumOf(rows[bar]!).nanoUsd)}
          combined={(bar) =>
            others.names.map((name, at) => {
              const { nanoUsd } = otherRows[bar]![at]!;
              return { name, value: Number(nanoUsd), text: text(nanoUsd) };
            })
          }
          axisText={axisUsd}
          labelName={t.day}
          totalName={t.spend}
          lines={lines}
        />
      ) : (
        <p className="text-soft">{t.noSpend}</p>
      )}
    </>
  );
}

function Figure({ name, usd, strong = false }: { name: string; usd: string; strong?: boolean }) {
  return (
    <div>
      <dt className="text-sm text-soft">{name}</dt>
      <dd className={strong ? 'text-2xl font-semibold' : 'text-lg'}>
        <Usd value={usd} />
      </dd>
    </div>
  );
}
