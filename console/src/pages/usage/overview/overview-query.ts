// Fetches the sums of the overview: the total, by group, and by day or hour and group. The API sums up calls; this file merges the parts of a range.
import { ApiError } from '../../../api/client.js';
import { getTotals, type UsageTotal } from '../../../api/usage.js';
import { daysIn, hoursIn, type OffsetAt, type Part, partsOf } from '../../../format/calendar.js';
import { type Figures, type Slots, slotsOf, sumOf } from './figures.js';
import { boundsOf, filterOf, type Grain, grainOf, grainsOf, previousStart, type Range, type UsageView } from '../view.js';

/** Days or hours with their sums. */
export interface OverviewSlots {
  readonly grain: Grain;
  /** The ids of every day or hour of the range, including those without calls. */
  readonly ids: readonly string[];
  readonly slots: Slots;
}

export interface Overview {
  readonly total: UsageTotal;
  readonly groups: readonly UsageTotal[];
  /** Undefined if there would be too much to draw. */
  readonly chart: OverviewSlots | undefined;
  /** The sums of the previous period, of its first day or hour, its second, and so on; undefined unless the view compares. */
  readonly previous: readonly Figures[] | undefined;
  /** The parts of the range with a constant offset; at least one. */
  readonly parts: readonly Part[];
  readonly possibleGrains: readonly Grain[];
}

const triesMax = 3;

/** Fetches all sums. If calls arrive meanwhile, fetches them again, so that the figures are consistent. */
export async function fetchOverview(
  accountId: string,
  view: UsageView,
  range: Range,
  offsetAt: OffsetAt,
  signal: AbortSignal,
): Promise<Overview> {
  for (let tries = 1; ; tries += 1) {
    const overview = await fetchOnce(accountId, view, range, offsetAt, signal);
    if (tries === triesMax || agrees(overview)) return overview;
  }
}

async function fetchOnce(accountId: string, view: UsageView, range: Range, offsetAt: OffsetAt, signal: AbortSignal): Promise<Overview> {
  const nowMs = Date.now();
  const bounds = boundsOf(range, nowMs, offsetAt);
  const filter = filterOf(view, bounds);
  const untilMs = bounds.untilMs ?? nowMs + 1;
  const fromMs = Math.min(bounds.fromMs ?? 0, untilMs);
  const grain = grainOf(view.grain, untilMs - fromMs);
  const parts = grain === undefined ? [] : partsOf(fromMs, untilMs, offsetAt);
  const previousMs = view.compare && grain !== undefined ? previousStart(fromMs, untilMs, offsetAt) : undefined;
  const partTotals = parts.map((part, index) =>
    getTotals(
      accountId,
      {
        ...filter,
        from: new Date(part.fromMs).toISOString(),
        // An open range stays open, because a call may start during the request.
        until: index === parts.length - 1 ? filter.until : new Date(part.untilMs).toISOString(),
        group_by: grain,
        then_by: view.group,
        tz_offset: part.offsetMinutes,
      },
      signal,
    ),
  );
  const [{ data: total }, { data: groups }, slots, previous] = await Promise.all([
    getTotals(accountId, filter, signal),
    getTotals(accountId, { ...filter, group_by: view.group }, signal),
    Promise.all(partTotals).catch(undefinedIfTooMany),
    previousMs === undefined ? undefined : fetchPrevious(accountId, view, grain!, previousMs, fromMs, offsetAt, signal),
  ]);
  return {
    total: total[0]!,
    groups,
    chart:
      grain === undefined || slots === undefined
        ? undefined
        : {
            grain,
            ids: idsOf(grain, fromMs, untilMs, offsetAt),
            slots: slotsOf(
              slots.map(({ data }) => data),
              grain,
            ),
          },
    previous,
    parts: parts.length > 0 ? parts : [{ fromMs, untilMs, offsetMinutes: offsetAt(untilMs) }],
    possibleGrains: grainsOf(untilMs - fromMs),
  };
}

async function fetchPrevious(
  accountId: string,
  view: UsageView,
  grain: Grain,
  fromMs: number,
  untilMs: number,
  offsetAt: OffsetAt,
  signal: AbortSignal,
): Promise<Figures[]> {
  const totals = await Promise.all(
    partsOf(fromMs, untilMs, offsetAt).map((part) => {
      const filter = filterOf(view, { fromMs: part.fromMs, untilMs: part.untilMs });
      return getTotals(accountId, { ...filter, group_by: grain, tz_offset: part.offsetMinutes }, signal);
    }),
  );
  const slots = slotsOf(
    totals.map(({ data }) => data),
    grain,
  );
  return idsOf(grain, fromMs, untilMs, offsetAt).map((id) => sumOf(slots.get(id)?.values() ?? []));
}

/** Returns undefined if the API refused the request because of too many groups; throws other errors. */
function undefinedIfTooMany(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'failed_precondition') return undefined;
  throw error;
}

function idsOf(grain: Grain, fromMs: number, untilMs: number, offsetAt: OffsetAt): string[] {
  return grain === 'day' ? daysIn(fromMs, untilMs, offsetAt) : hoursIn(fromMs, untilMs, offsetAt).map(String);
}

/** Reports whether all sums are of the same calls. */
function agrees({ total, groups, chart }: Overview): boolean {
  const callsOf = (sums: Iterable<{ readonly calls: number }>): number => [...sums].reduce((sum, { calls }) => sum + calls, 0);
  const inChart = chart === undefined ? total.calls : callsOf([...chart.slots.values()].flatMap((slot) => [...slot.values()]));
  return callsOf(groups) === total.calls && inChart === total.calls;
}
