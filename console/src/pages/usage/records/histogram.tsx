// Calls and errors over the range of the records; a part that is dragged over becomes the range.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNumber } from '../../../format/number.js';
import { useOffsetAt, useZone } from '../../../format/time.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { StackedBars } from '../../../ui/charts/stacked-bars.js';
import { sumOf } from '../overview/figures.js';
import { fetchOverview } from '../overview/overview-query.js';
import { useSlotLabel, zoomed } from '../overview/usage-chart.js';
import { useView } from '../use-view.js';
import { filterOf, type Range } from '../view.js';

const refreshMs = 10_000;
const widestRange = '90d';

export function Histogram({ range }: { range: Range }) {
  const t = useText(usageText);
  const account = useAccount();
  const zone = useZone();
  const offsetAt = useOffsetAt();
  const count = useNumber();
  const [view, change] = useView();
  const label = useSlotLabel(false);
  const shown = range === 'all' ? widestRange : range;
  const filter = filterOf(view, { fromMs: undefined, untilMs: undefined });
  const { data } = useQuery({
    queryKey: ['usage', account.id, 'histogram', { ...filter, shown }, zone],
    queryFn: ({ signal }) =>
      fetchOverview(account.id, { ...view, group: 'outcome', grain: undefined, compare: false }, shown, offsetAt, signal),
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
  const chart = data?.chart;
  if (chart === undefined || data?.total.calls === 0 || chart.ids.length < 2) return null;
  const sums = chart.ids.map((id) => sumOf(chart.slots.get(id)?.values() ?? []));
  const figure = (bar: number, at: number): number => (at === 0 ? sums[bar]!.calls - sums[bar]!.errors : sums[bar]!.errors);
  return (
    <div className="mb-3 rounded-md border border-line p-3 max-sm:hidden">
      {range === 'all' && <p className="mb-2 text-sm text-soft">{t.histogramAll}</p>}
      <StackedBars
        small
        title={t.histogram}
        series={[t.succeeded, t.errors]}
        bars={chart.ids.map((id, index) => ({ id, ...label(id, chart.grain), values: [figure(index, 0), figure(index, 1)] }))}
        text={(bar, at) => count(figure(bar, at))}
        totalText={(bar) => count(sums[bar]!.calls)}
        axisText={count}
        labelName={t[chart.grain]}
        totalName={t.calls}
        onZoom={(first, last) => change(zoomed(chart, first, last, offsetAt))}
      />
    </div>
  );
}
