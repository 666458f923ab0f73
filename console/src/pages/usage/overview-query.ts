// The sums of the overview: of all, by group, and by day or hour and group. The API adds up; here parts of a range are put together.
import { ApiError } from '../../api/client.js';
import { getTotals, type UsageTotal } from '../../api/usage.js';
import { daysIn, hoursIn, type OffsetAt, type Part, partsOf } from '../../format/calendar.js';
import { type Slots, slotsOf } from './figures.js';
import { boundsOf, filterOf, type Grain, grainOf, grainsOf, type Range, type UsageView } from './view.js';

/** Days or hours with their sums. */
export interface OverviewSlots {
  readonly grain: Grain;
  /** Of every day or hour of the range, also those without calls. */
  readonly ids: readonly string[];
  readonly slots: Slots;
}

export interface Overview {
  readonly total: UsageTotal;
  readonly groups: readonly UsageTotal[];
  /** Undefined: there would be too much to be drawn. */
  readonly chart: OverviewSlots | undefined;
  /** The range by the offsets of the zone; at least one. */
  readonly parts: readonly Part[];
  readonly possibleGrains: readonly Grain[];
}

const triesMax = 3;

/** Asks for all of it. Calls that come meanwhile make it ask again, so that the figures agree with each other. */
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
  const partTotals = parts.map((part, index) =>
    getTotals(
      accountId,
      {
        ...filter,
        from: new Date(part.fromMs).toISOString(),
        // What is open stays open: a call may start while this is asked.
        until: index === parts.length - 1 ? filter.until : new Date(part.untilMs).toISOString(),
        group_by: grain,
        then_by: view.group,
        tz_offset: part.offsetMinutes,
      },
      signal,
    ),
  );
  const [{ data: total }, { data: groups }, slots] = await Promise.all([
    getTotals(accountId, filter, signal),
    getTotals(accountId, { ...filter, group_by: view.group }, signal),
    Promise.all(partTotals).catch(undefinedIfTooMany),
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
    parts: parts.length > 0 ? parts : [{ fromMs, untilMs, offsetMinutes: offsetAt(untilMs) }],
    possibleGrains: grainsOf(untilMs - fromMs),
  };
}

/** The API tells at most so many groups at once. */
function undefinedIfTooMany(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'failed_precondition') return undefined;
  throw error;
}

function idsOf(grain: Grain, fromMs: number, untilMs: number, offsetAt: OffsetAt): string[] {
  return grain === 'day' ? daysIn(fromMs, untilMs, offsetAt) : hoursIn(fromMs, untilMs, offsetAt).map(String);
}

/** Whether they were all told of the same calls. */
function agrees({ total, groups, chart }: Overview): boolean {
  const callsOf = (sums: Iterable<{ readonly calls: number }>): number => [...sums].reduce((sum, { calls }) => sum + calls, 0);
  const inChart = chart === undefined ? total.calls : callsOf([...chart.slots.values()].flatMap((slot) => [...slot.values()]));
  return callsOf(groups) === total.calls && inChart === total.calls;
}
