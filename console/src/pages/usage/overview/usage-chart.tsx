// The chart of the overview: days or hours, stacked by group, with the same figures as a table.
import { addDays, type OffsetAt, startOfDay } from '../../../format/calendar.js';
import { axisUsd } from '../../../format/money.js';
import { useNumber } from '../../../format/number.js';
import { useOffsetAt, useZone } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useLanguage, useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { Segmented } from '../../../ui/segmented.js';
import { StackedBars } from '../../../ui/charts/stacked-bars.js';
import { useProjectName } from '../../projects/queries.js';
import { useOutcomeName } from '../outcome.js';
import { chartOf, drawn, type Figures, figureText, runningSums, sumOf } from './figures.js';
import type { Overview, OverviewSlots } from './overview-query.js';
import { useKeyNames } from '../../keys/key-names.js';
import { useMembers, useView } from '../use-view.js';
import { type Grain, type Measure, measures, type UsageView } from '../view.js';

export function UsageChart({ overview: { chart, groups, parts, possibleGrains, previous } }: { overview: Overview }) {
  const t = useText(usageText);
  const [view, change] = useView();
  const count = useNumber();
  const { nameOf } = useKeyNames();
  const { memberName } = useMembers();
  const outcomeName = useOutcomeName();
  const projectName = useProjectName();
  const offsetAt = useOffsetAt();
  const label = useSlotLabel(parts.length > 1);
  const groupName = (name: string | undefined): string =>
    name === undefined
      ? t.other
      : view.group === 'key'
        ? nameOf(name)
        : view.group === 'outcome'
          ? outcomeName(name)
          : view.group === 'project'
            ? projectName(name)
            : view.group === 'member'
              ? memberName(name)
              : name;
  const { measure } = view;
  const controls = (
    <div className="mb-3 flex flex-wrap gap-2">
      <Segmented<Measure>
        label={t.measure}
        value={measure}
        onChange={(next) => change({ measure: next })}
        options={measures.map((value) => ({ value, label: t[value] }))}
      />
      {possibleGrains.length > 1 && chart !== undefined && (
        <Segmented<Grain>
          label={t.grain}
          value={chart.grain}
          onChange={(grain) => change({ grain })}
          options={possibleGrains.map((value) => ({ value, label: t[`grain.${value}`] }))}
        />
      )}
      <Button
        aria-pressed={view.cumulative}
        look={view.cumulative ? 'primary' : 'secondary'}
        onClick={() => change({ cumulative: !view.cumulative })}
      >
        {t.cumulative}
      </Button>
      <Button aria-pressed={view.compare} look={view.compare ? 'primary' : 'secondary'} onClick={() => change({ compare: !view.compare })}>
        {t.compare}
      </Button>
    </div>
  );
  if (chart === undefined) {
    return (
      <>
        {controls}
        <p className="text-soft">{t.chartTooLong}</p>
      </>
    );
  }
  const {
    series,
    rows: ownRows,
    others,
  } = chartOf(
    chart.slots,
    chart.ids,
    groups.map(({ name }) => name ?? ''),
  );
  const rows = view.cumulative ? runningSums(ownRows) : ownRows;
  const otherRows = view.cumulative ? runningSums(others.rows) : others.rows;
  const before = previous?.slice(0, chart.ids.length).map((figures) => [figures]);
  const beforeRows = before === undefined ? undefined : view.cumulative ? runningSums(before) : before;
  const beforeAt = (index: number) => beforeRows?.[index]?.[0];
  const textAt = (figures: Figures | undefined): string => (figures === undefined ? '–' : figureText(figures, measure, count));
  return (
    <>
      {controls}
      <StackedBars
        title={t.chartOf({ measure: t[measure], group: t[`word_${view.group}`], grain: t[`word_${chart.grain}`] })}
        series={distinct(series.map(groupName))}
        bars={chart.ids.map((id, index) => ({
          id,
          ...label(id, chart.grain),
          values: rows[index]!.map((figures) => drawn(figures, measure)),
        }))}
        text={(bar, at) => figureText(rows[bar]![at]!, measure, count)}
        totalText={(bar) => figureText(sumOf(rows[bar]!), measure, count)}
        combined={(bar) =>
          others.names.map((name, at) => {
            const figures = otherRows[bar]![at]!;
            return { name: groupName(name), value: drawn(figures, measure), text: figureText(figures, measure, count) };
          })
        }
        axisText={(value, step) => (measure === 'spend' ? axisUsd(value, step) : count(value))}
        labelName={t[chart.grain]}
        totalName={t.total}
        lines={
          beforeRows === undefined
            ? []
            : [
                {
                  name: t.previousPeriod,
                  values: chart.ids.map((_, index) => (beforeAt(index) === undefined ? undefined : drawn(beforeAt(index)!, measure))),
                  text: (bar) => textAt(beforeAt(bar)),
                },
              ]
        }
        onZoom={(first, last) => change(zoomed(chart, first, last, offsetAt))}
      />
    </>
  );
}

/** Returns the range from the first bar to the end of the last one. */
export function zoomed({ ids, grain }: OverviewSlots, first: number, last: number, offsetAt: OffsetAt): Partial<UsageView> {
  const startOf = (index: number): number => (grain === 'hour' ? Number(ids[index]) : startOfDay(ids[index]!, offsetAt));
  const untilMs = grain === 'hour' ? startOf(last) + 3_600_000 : startOfDay(addDays(ids[last]!, 1), offsetAt);
  return { range: { from: new Date(startOf(first)).toISOString(), until: new Date(untilMs).toISOString() }, grain: undefined };
}

/** Makes names unique, because series are identified by their names. */
function distinct(names: readonly string[]): string[] {
  return names.map((name, index) => (names.indexOf(name) === index ? name : `${name} (${index + 1})`));
}

/** `changes`: the clocks change in the range, so that two hours may have the same name. */
export function useSlotLabel(changes: boolean): (id: string, grain: Grain) => { label: string; axisLabel: string } {
  const language = useLanguage();
  const zone = useZone();
  const day = new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const inZone = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...(zone === 'utc' ? { timeZone: 'UTC' } : {}) } as const;
  const hour = new Intl.DateTimeFormat(language, inZone);
  const dayAndHour = new Intl.DateTimeFormat(language, {
    month: 'short',
    day: 'numeric',
    ...inZone,
    ...(changes ? { timeZoneName: 'shortOffset' } : {}),
  });
  return (id, grain) => {
    if (grain === 'day') return { label: day.format(Date.parse(id)), axisLabel: day.format(Date.parse(id)) };
    return { label: dayAndHour.format(Number(id)), axisLabel: hour.format(Number(id)) };
  };
}
