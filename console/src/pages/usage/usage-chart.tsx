// The chart of the overview: days or hours, stacked by group, with the same figures as a table.
import { axisUsd } from '../../format/money.js';
import { useNumber } from '../../format/number.js';
import { useZone } from '../../format/time.js';
import { usageText } from '../../i18n/usage.js';
import { useLanguage, useText } from '../../i18n/text.js';
import { Segmented } from '../../ui/segmented.js';
import { StackedBars } from '../../ui/stacked-bars.js';
import { useOutcomeName } from './outcome.js';
import { chartOf, drawn, figureText, sumOf } from './figures.js';
import type { Overview } from './overview-query.js';
import { useKeyNames, useView } from './use-view.js';
import { type Grain, type Measure, measures } from './view.js';

export function UsageChart({ overview: { chart, groups, parts, possibleGrains } }: { overview: Overview }) {
  const t = useText(usageText);
  const [view, change] = useView();
  const count = useNumber();
  const { nameOf } = useKeyNames();
  const outcomeName = useOutcomeName();
  const label = useSlotLabel(parts.length > 1);
  const groupName = (name: string | undefined): string =>
    name === undefined ? t.other : view.group === 'key' ? nameOf(name) : view.group === 'outcome' ? outcomeName(name) : name;
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
  const { series, rows } = chartOf(
    chart.slots,
    chart.ids,
    groups.map(({ name }) => name ?? ''),
  );
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
        axisText={(value) => axisText(value, measure, count)}
        labelName={t[chart.grain]}
        totalName={t.total}
      />
    </>
  );
}

/** Formats the round figures of the axis; the table has the exact ones. */
function axisText(value: number, measure: Measure, count: (value: number) => string): string {
  return measure === 'spend' ? axisUsd(value) : count(value);
}

/** Makes names unique, because series are identified by their names. */
function distinct(names: readonly string[]): string[] {
  return names.map((name, index) => (names.indexOf(name) === index ? name : `${name} (${index + 1})`));
}

/** `changes`: the clocks change in the range, so that two hours may have the same name. */
function useSlotLabel(changes: boolean): (id: string, grain: Grain) => { label: string; axisLabel: string } {
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
