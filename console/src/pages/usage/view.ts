// The view of the usage pages: filter, range and grouping. It is in the address and shared by both pages. Pure.
import { addDays, dayOf, daysIn, hoursIn, type OffsetAt, startOfDay, startOfDayAgo } from '../../format/calendar.js';

/** Ranges that end now. */
export const presets = ['24h', '7d', '30d', '90d', 'month'] as const;
type Preset = (typeof presets)[number];

/** From an instant (inclusive) until another (exclusive), in ISO 8601; empty for no bound. */
export interface CustomRange {
  readonly from: string;
  readonly until: string;
}

export type Range = Preset | 'all' | CustomRange;

export const groupings = ['model', 'project', 'key', 'member', 'outcome'] as const;
export type Grouping = (typeof groupings)[number];
export const measures = ['spend', 'calls', 'tokens', 'errors'] as const;
export type Measure = (typeof measures)[number];
const grains = ['hour', 'day'] as const;
export type Grain = (typeof grains)[number];

const recordSorts = ['charge', 'input', 'output', 'duration', 'first_output'] as const;
export type RecordSort = (typeof recordSorts)[number];

/** The contents of the address. An empty text is no filter. */
export interface UsageView {
  /** Undefined for the page's default. */
  readonly range: Range | undefined;
  readonly project: string;
  readonly key: string;
  /** The id of the user who created the key, or `noMember`. */
  readonly member: string;
  readonly model: string;
  readonly outcome: string;
  /** Finds one call; ignored by the overview. */
  readonly requestId: string;
  readonly group: Grouping;
  readonly measure: Measure;
  /** Undefined to choose the grain by the range. */
  readonly grain: Grain | undefined;
  /** Whether each bar includes those before it. */
  readonly cumulative: boolean;
  /** Whether the previous period is shown too. */
  readonly compare: boolean;
  /** The order of records, the highest first; undefined for the newest first. */
  readonly sort: RecordSort | undefined;
}

/** The value of `member` for keys that were created without a user. */
export const noMember = 'none';

/** The parts that filter calls; each has a chip that removes it. */
export const filterParts = ['project', 'key', 'member', 'model', 'outcome', 'requestId'] as const;
export type FilterPart = (typeof filterParts)[number];
/** The view's change that removes all of them. */
export const noFilter: Readonly<Record<FilterPart, ''>> = { project: '', key: '', member: '', model: '', outcome: '', requestId: '' };

const dayMs = 86_400_000;
const hoursShownMax = 8 * 24 + 1;
/** A leap year and a day. */
const daysShownMax = 367;

/** Parses the address; invalid values are treated as absent. */
export function readView(search: string): UsageView {
  const query = new URLSearchParams(search);
  const text = (name: string): string => query.get(name) ?? '';
  const oneOf = <T extends string>(words: readonly T[], name: string): T | undefined => words.find((word) => word === query.get(name));
  const [from, until] = [instantOf(text('from')), instantOf(text('until'))];
  return {
    range: oneOf<Preset | 'all'>([...presets, 'all'], 'range') ?? (from === '' && until === '' ? undefined : { from, until }),
    project: text('project'),
    key: text('key'),
    member: text('member'),
    model: text('model'),
    outcome: text('outcome'),
    requestId: text('request_id'),
    group: oneOf(groupings, 'group') ?? 'model',
    measure: oneOf(measures, 'measure') ?? 'spend',
    grain: oneOf(grains, 'by'),
    cumulative: query.has('cumulative'),
    compare: query.has('compare'),
    sort: oneOf(recordSorts, 'sort'),
  };
}

/** Writes the address without defaults; begins with `?` unless it is empty. */
export function writeView(view: UsageView): string {
  const { range } = view;
  const custom = typeof range === 'object' ? range : { from: '', until: '' };
  const parts: [string, string][] = [
    ['range', typeof range === 'string' ? range : ''],
    ['from', custom.from],
    ['until', custom.until],
    ['project', view.project],
    ['key', view.key],
    ['member', view.member],
    ['model', view.model],
    ['outcome', view.outcome],
    ['request_id', view.requestId],
    ['group', view.group === 'model' ? '' : view.group],
    ['measure', view.measure === 'spend' ? '' : view.measure],
    ['by', view.grain ?? ''],
    ['cumulative', view.cumulative ? '1' : ''],
    ['compare', view.compare ? '1' : ''],
    ['sort', view.sort ?? ''],
  ];
  const text = new URLSearchParams(parts.filter(([, value]) => value !== '')).toString();
  return text === '' ? '' : `?${text}`;
}

function instantOf(text: string): string {
  const ms = text === '' ? Number.NaN : Date.parse(text);
  if (Number.isNaN(ms) || ms < 0) return '';
  const instant = new Date(ms).toISOString();
  // A year with more than four digits has a sign.
  return instant.startsWith('+') ? '' : instant;
}

/** A range in epoch milliseconds; undefined for no bound. */
export interface Bounds {
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** Returns the bounds of a range. Presets begin with a whole hour or day of the zone, so that the first bar is complete. */
export function boundsOf(range: Range, nowMs: number, offsetAt: OffsetAt): Bounds {
  if (typeof range === 'object') return { fromMs: msOf(range.from), untilMs: msOf(range.until) };
  if (range === 'all') return { fromMs: undefined, untilMs: undefined };
  return { fromMs: presetStart(range, nowMs, offsetAt), untilMs: undefined };
}

function presetStart(preset: Preset, nowMs: number, offsetAt: OffsetAt): number {
  const today = dayOf(nowMs, offsetAt);
  if (preset === '24h') return hoursIn(nowMs - (23 * dayMs) / 24, nowMs + 1, offsetAt)[0]!;
  if (preset === 'month') return startOfDay(`${today.slice(0, 8)}01`, offsetAt);
  return startOfDayAgo(Number(preset.slice(0, -1)) - 1, nowMs, offsetAt);
}

const msOf = (instant: string): number | undefined => (instant === '' ? undefined : Date.parse(instant));

/** Returns the range from the first to the last day, inclusive; an empty day is no bound. */
export function rangeOfDays(first: string, last: string, offsetAt: OffsetAt): CustomRange {
  const start = (day: string) => new Date(startOfDay(day, offsetAt)).toISOString();
  return { from: first === '' ? '' : start(first), until: last === '' ? '' : start(addDays(last, 1)) };
}

/** Returns the first and the last day of a range; empty for no bound. */
export function daysOfBounds({ fromMs, untilMs }: Bounds, offsetAt: OffsetAt): { first: string; last: string } {
  return { first: fromMs === undefined ? '' : dayOf(fromMs, offsetAt), last: untilMs === undefined ? '' : dayOf(untilMs - 1, offsetAt) };
}

/** Returns the filter as parameters of the API. */
export function filterOf(
  view: UsageView,
  { fromMs, untilMs }: Bounds,
): { project?: string; key?: string; member?: string; model?: string; outcome?: string; from?: string; until?: string } {
  const { project, key, member, model, outcome } = view;
  return {
    ...(project === '' ? {} : { project }),
    ...(key === '' ? {} : { key }),
    ...(member === '' ? {} : { member }),
    ...(model === '' ? {} : { model }),
    ...(outcome === '' ? {} : { outcome }),
    ...(fromMs === undefined ? {} : { from: new Date(fromMs).toISOString() }),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
  };
}

/** Returns the filter for records, which can also be found by their id. */
export function searchOf(view: UsageView, bounds: Bounds): ReturnType<typeof filterOf> & { request_id?: string } {
  return { ...filterOf(view, bounds), ...(view.requestId === '' ? {} : { request_id: view.requestId }) };
}

/** Returns the grains in which a range can be drawn; none if it is too long for a chart. */
export function grainsOf(lengthMs: number): Grain[] {
  if (lengthMs > daysShownMax * dayMs) return [];
  return lengthMs <= (hoursShownMax * dayMs) / 24 ? ['hour', 'day'] : ['day'];
}

/** Returns the grain to draw: the wanted one if possible, otherwise hours for up to two days and days beyond. */
export function grainOf(wanted: Grain | undefined, lengthMs: number): Grain | undefined {
  const possible = grainsOf(lengthMs);
  if (wanted !== undefined && possible.includes(wanted)) return wanted;
  return lengthMs <= 2 * dayMs ? possible[0] : possible.at(-1);
}

/**
 * Returns when the period before a range began: the previous month for a range that begins with a month and is not longer, otherwise as many days
 * before.
 */
export function previousStart(fromMs: number, untilMs: number, offsetAt: OffsetAt): number {
  const first = dayOf(fromMs, offsetAt);
  const days = daysIn(fromMs, untilMs, offsetAt).length;
  if (!first.endsWith('-01') || days > 31) {
    return untilMs - fromMs < 2 * dayMs ? fromMs - (untilMs - fromMs) : startOfDay(addDays(first, -days), offsetAt);
  }
  return startOfDay(`${addDays(first, -1).slice(0, 8)}01`, offsetAt);
}
