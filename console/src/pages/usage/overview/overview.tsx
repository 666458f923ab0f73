// Usage and cost of calls: sums, a chart and a table by group, with a filter that is shared with the records page.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { Link } from 'wouter';
import type { UsageTotal } from '../../../api/usage.js';
import { nanoUsdOf, shareOf } from '../../../format/money.js';
import { durationText } from '../../../format/duration.js';
import { useNumber } from '../../../format/number.js';
import { useOffsetAt, useTime, useZone } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useUnitName } from '../../../i18n/units.js';
import { useAccount } from '../../../session/account.js';
import { serverFile } from '../../../session/server-file.js';
import { ButtonLink } from '../../../ui/button.js';
import { Card, PageHeader, Section, Stat, Stats } from '../../../ui/layout.js';
import { SkeletonRows } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { Segmented } from '../../../ui/segmented.js';
import { type Column, DataTable } from '../../../ui/table.js';
import { Bar, Usd } from '../../../ui/values.js';
import { useProjectName } from '../../projects/queries.js';
import { useOutcomeName } from '../outcome.js';
import { allTokens, shareText } from './figures.js';
import { FilterBar } from '../filter-bar.js';
import { NoCalls } from '../no-calls.js';
import { fetchOverview, type Overview as OverviewData } from './overview-query.js';
import { UsageChart } from './usage-chart.js';
import { useKeyNames } from '../../keys/key-names.js';
import { useMembers, useView, useZoneName } from '../use-view.js';
import { type Grouping, groupings, noMember, presets, type Range, type UsageView, writeView } from '../view.js';

const Performance = lazy(() => serverFile(() => import('./performance.js')));
const refreshMs = 10_000;
const startRange = '7d';
const widestRange = '90d';

export default function Overview() {
  const t = useText(usageText);
  const account = useAccount();
  const zone = useZone();
  const offsetAt = useOffsetAt();
  const [view, change] = useView();
  const range: Range = view.range === 'all' ? widestRange : (view.range ?? startRange);
  const query = useQuery({
    queryKey: ['usage', account.id, 'overview', { ...view, range, measure: null, requestId: null }, zone],
    queryFn: ({ signal }) => fetchOverview(account.id, view, range, offsetAt, signal),
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHeader
        title={t.overview}
        description={t.overviewAbout}
        actions={
          <>
            <ButtonLink to={account.path('/usage/refusals')}>{t.toRefusals}</ButtonLink>
            <ButtonLink to={recordsPath(account, { ...view, range })}>{t.toRecords}</ButtonLink>
          </>
        }
      />
      <FilterBar shown={range} ranges={presets} ids={false} />
      <Fetched query={query}>
        {(overview) => (
          <div aria-busy={query.isPlaceholderData} className={query.isPlaceholderData ? 'opacity-60' : undefined}>
            {overview.total.calls === 0 ? (
              <NoCalls shown={range} widest={widestRange} />
            ) : (
              <>
                <Tiles overview={overview} view={{ ...view, range }} />
                <Section
                  actions={
                    <Segmented<Grouping>
                      label={t.groupBy}
                      value={view.group}
                      onChange={(group) => change({ group })}
                      options={groupings
                        .filter((value) => value !== 'member' || account.can('look'))
                        .map((value) => ({ value, label: t[value] }))}
                    />
                  }
                  title={t.tableOf({ group: t[`word_${view.group}`] })}
                  description={<Clocks overview={overview} />}
                >
                  <Card className="mb-4">
                    <UsageChart overview={overview} />
                  </Card>
                  <Card flush>
                    <Groups overview={overview} view={{ ...view, range }} />
                  </Card>
                </Section>
                <Suspense fallback={<SkeletonRows rows={4} />}>
                  <Performance range={range} />
                </Suspense>
              </>
            )}
          </div>
        )}
      </Fetched>
    </>
  );
}

const recordsPath = (account: { path(page: string): string }, view: UsageView): string => account.path(`/usage/records${writeView(view)}`);

function Tiles({ overview: { total }, view }: { overview: OverviewData; view: UsageView }) {
  const t = useText(usageText);
  const account = useAccount();
  const count = useNumber();
  const records = recordsPath(account, view);
  const { tokens } = total;
  const figure = (value: ReactNode) => (
    <Link to={records} title={t.seeRecords} className="hover:underline">
      {value}
    </Link>
  );
  return (
    <Stats>
      <Stat label={t.spend} value={figure(<Usd value={total.charge_usd} />)} />
      <Stat
        label={t.calls}
        value={figure(count(total.calls))}
        hint={
          total.mean_duration_ms !== null && (
            <>
              {t.meanDuration}: {durationText(total.mean_duration_ms)}
              {total.mean_first_output_ms !== null && `, ${t.meanFirst({ time: durationText(total.mean_first_output_ms) })}`}
            </>
          )
        }
      />
      <Stat
        label={t.errors}
        value={<OutcomesLink to={account.path(`/usage${writeView({ ...view, group: 'outcome' })}`)}>{count(total.errors)}</OutcomesLink>}
        hint={t.errorsHint}
      />
      <Stat
        label={t.tokens}
        value={figure(count(allTokens(tokens)))}
        hint={
          <ul>
            <li>
              {t.input}: {count(tokens.input)}
            </li>
            <li>
              {t.cached}: {t.cacheParts({ read: count(tokens.cache_read), written: count(tokens.cache_write) })}
            </li>
            <li>
              {t.output}: {count(tokens.output)} ({t.ofWhichReasoning({ count: count(tokens.reasoning) })})
            </li>
          </ul>
        }
      />
    </Stats>
  );
}

/** Shows the time zone of days and hours. */
function Clocks({ overview: { parts } }: { overview: OverviewData }) {
  const t = useText(usageText);
  const time = useTime();
  const zoneName = useZoneName();
  const changed = parts.at(-1)!;
  if (parts.length === 1) return t.cutBy({ zone: zoneName(changed.fromMs) });
  const before = parts.at(-2)!;
  return t.cutByChange({ before: zoneName(before.fromMs), after: zoneName(changed.fromMs), when: time.minute(changed.fromMs) });
}

function Groups({ overview: { groups, total }, view }: { overview: OverviewData; view: UsageView }) {
  const t = useText(usageText);
  const account = useAccount();
  const count = useNumber();
  const unitName = useUnitName();
  const nameOf = useGroupName(view.group);
  const all = nanoUsdOf(total.charge_usd);
  const withFilter = ({ name }: UsageTotal): UsageView => ({ ...view, [view.group]: name ?? (view.group === 'member' ? noMember : '') });
  const to = (group: UsageTotal): string => recordsPath(account, withFilter(group));
  const figure = (group: UsageTotal, value: ReactNode) => (
    <Link to={to(group)} title={t.seeRecords} className="hover:underline">
      {value}
    </Link>
  );
  const columns: Column<UsageTotal>[] = [
    {
      name: t[view.group],
      cell: (group) => (
        <Link to={to(group)} className="link wrap-anywhere">
          {nameOf(group.name ?? '')}
        </Link>
      ),
    },
    {
      name: t.spend,
      usd: ({ charge_usd }) => charge_usd,
      rounded: true,
      cell: (group, digits) => figure(group, <Usd value={group.charge_usd} digits={digits} />),
    },
    {
      name: t.share,
      className: 'md:w-36',
      cell(group) {
        const share = shareText(nanoUsdOf(group.charge_usd), all);
        return (
          <span className="inline-flex items-center gap-2 tabular">
            <span className="w-12 text-right">{share}</span>
            <Bar
              plain
              small
              share={shareOf(group.charge_usd, total.charge_usd)}
              label={t.shareOf({ name: nameOf(group.name ?? ''), share })}
            />
          </span>
        );
      },
    },
    { name: t.calls, numeric: true, cell: (group) => figure(group, count(group.calls)) },
    {
      name: t.errors,
      numeric: true,
      cell: (group) =>
        view.group === 'outcome' ? (
          figure(group, count(group.errors))
        ) : (
          <OutcomesLink to={account.path(`/usage${writeView({ ...withFilter(group), group: 'outcome' })}`)}>
            {count(group.errors)}
          </OutcomesLink>
        ),
    },
    { name: t.input, numeric: true, cell: (group) => figure(group, count(group.tokens.input)) },
    { name: t.cached, numeric: true, cell: (group) => figure(group, count(group.tokens.cache_read + group.tokens.cache_write)) },
    { name: t.output, numeric: true, cell: (group) => figure(group, count(group.tokens.output)) },
    ...(groups.some(({ units }) => units.length > 0)
      ? [
          {
            name: t.otherUnits,
            cell: ({ units }: UsageTotal) => units.map(({ unit, quantity }) => `${unitName(unit)} ${count(quantity)}`).join(', '),
          },
        ]
      : []),
  ];
  return (
    <DataTable caption={t.tableOf({ group: t[`word_${view.group}`] })} columns={columns} rows={groups} rowKey={({ name }) => name ?? ''} />
  );
}

/** Links to the failed calls, by their outcomes. */
function OutcomesLink({ to, children }: { to: string; children: ReactNode }) {
  const t = useText(usageText);
  return (
    <Link to={to} title={t.seeOutcomes} className="hover:underline">
      {children}
    </Link>
  );
}

/** Returns a function that names groups of this kind. */
function useGroupName(group: Grouping): (name: string) => string {
  const { nameOf } = useKeyNames();
  const projectName = useProjectName();
  const outcomeName = useOutcomeName();
  const { memberName } = useMembers();
  if (group === 'member') return memberName;
  return group === 'project' ? projectName : group === 'key' ? nameOf : group === 'outcome' ? outcomeName : (name) => name;
}
