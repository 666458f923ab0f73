// The calendar periods of budgets: which day, week or month an instant belongs to in a time zone, and when it ends. Pure.
//
// A period is named by its first day, not by the instant at which it begins. So each date has one allowance: a change of the time zone or of the
// clocks moves the instants at which a period begins and ends, but never starts the same month, week or day again.
import { dayMs, hourMs, minuteMs } from '#kit/clock.js';
import { BudgetPeriod } from '#proto/budget/v1/budget.js';

/** Zones are at most 14 hours ahead of UTC and 12 behind; the rest is margin. */
const aheadMs = 15 * hourMs;
const behindMs = 13 * hourMs;
/** There are some 600 zones; callers may write a name in several ways. */
const zonesMax = 2000;

/** The first days of the periods that contain an instant, such as 20261123. */
type Starts = Readonly<Record<BudgetPeriod, number>>;

interface Zone {
  readonly date: Intl.DateTimeFormat;
  /** The minute to which the starts apply. Local dates only change between minutes, since offsets from UTC are whole minutes. */
  minute: number;
  starts: Starts;
  /** Created on first use, since only refusals and alerts need it. */
  time: Intl.DateTimeFormat | undefined;
  /** By period and first day; usually those of the current and recent periods. */
  readonly bounds: Map<string, PeriodBounds>;
}

/** The instants at which a period begins and the next one does. */
export interface PeriodBounds {
  readonly fromMs: number;
  readonly untilMs: number;
}

const boundsMax = 100;

const zones = new Map<string, Zone>();

/** Reports whether this is an IANA time zone, such as "Asia/Shanghai". An empty text is UTC. */
export function isTimeZone(timeZone: string): boolean {
  try {
    zoneOf(timeZone);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first day of the period that contains an instant, as a number such as 20261123; 0 for a lifetime. Raises a RangeError for an unknown zone. */
export function periodStart(period: BudgetPeriod, timeZone: string, atMs: number): number {
  const zone = zoneOf(timeZone);
  const minute = Math.floor(atMs / minuteMs);
  if (zone.minute !== minute) {
    zone.starts = startsOf(dayAt(zone, atMs));
    zone.minute = minute;
  }
  return zone.starts[period];
}

/** Returns the instants at which a period begins and the next one does; undefined for a lifetime. */
export function periodBounds(period: BudgetPeriod, timeZone: string, start: number): PeriodBounds | undefined {
  if (start === 0) return undefined;
  const zone = zoneOf(timeZone);
  const name = `${period} ${start}`;
  let bounds = zone.bounds.get(name);
  if (bounds === undefined) {
    bounds = { fromMs: firstInstantOf(zone, dayOf(start)), untilMs: firstInstantOf(zone, dayOf(nextStart(period, start))) };
    if (zone.bounds.size >= boundsMax) zone.bounds.clear();
    zone.bounds.set(name, bounds);
  }
  return bounds;
}

/** Returns an instant as ISO 8601 with the offset of the zone, such as "2026-12-01T00:00:00+08:00". */
export function isoIn(timeZone: string, atMs: number): string {
  const zone = zoneOf(timeZone);
  zone.time ??= new Intl.DateTimeFormat('en-US', {
    ...gregorian,
    timeZone: timeZone || 'UTC',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  });
  const parts = zone.time.formatToParts(atMs);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((each) => each.type === type)?.value ?? '';
  // "GMT+08:00"; some versions of ICU write no offset as "GMT".
  const offset = part('timeZoneName').slice(3) || '+00:00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}

/** Returns the first day of a period as a date, such as "2026-11-23". */
export function dateText(start: number): string {
  const digits = String(start);
  return `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
}

const gregorian = { calendar: 'gregory', numberingSystem: 'latn', year: 'numeric', month: '2-digit', day: '2-digit' } as const;

function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone);
  if (zone === undefined) {
    zone = {
      date: new Intl.DateTimeFormat('en-US', { ...gregorian, timeZone: timeZone || 'UTC' }),
      minute: Number.NaN,
      starts: startsOf(0),
      time: undefined,
      bounds: new Map(),
    };
    if (zones.size >= zonesMax) zones.clear();
    zones.set(timeZone, zone);
  }
  return zone;
}

/** Returns the local date of an instant, in days since 1970. */
function dayAt({ date }: Zone, atMs: number): number {
  const [month, day, year] = date.format(atMs).split('/').map(Number) as [number, number, number];
  return Date.UTC(year, month - 1, day) / dayMs;
}

/** Returns the first instant of a local date, or of the next one if the zone skipped it. It is not always midnight: clocks may go forward then. */
function firstInstantOf(zone: Zone, day: number): number {
  let before = Math.floor((day * dayMs - aheadMs) / minuteMs);
  let after = Math.ceil((day * dayMs + behindMs) / minuteMs);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (dayAt(zone, middle * minuteMs) < day) before = middle;
    else after = middle;
  }
  return after * minuteMs;
}

function startsOf(day: number): Starts {
  // 1970-01-01 was a Thursday.
  const sinceMonday = (((day + 3) % 7) + 7) % 7;
  const date = numberOf(day);
  return {
    [BudgetPeriod.BUDGET_PERIOD_UNSPECIFIED]: 0,
    [BudgetPeriod.BUDGET_PERIOD_LIFETIME]: 0,
    [BudgetPeriod.BUDGET_PERIOD_MONTH]: date - (date % 100) + 1,
    [BudgetPeriod.BUDGET_PERIOD_WEEK]: numberOf(day - sinceMonday),
    [BudgetPeriod.BUDGET_PERIOD_DAY]: date,
    [BudgetPeriod.UNRECOGNIZED]: 0,
  };
}

function nextStart(period: BudgetPeriod, start: number): number {
  if (period === BudgetPeriod.BUDGET_PERIOD_DAY) return numberOf(dayOf(start) + 1);
  if (period === BudgetPeriod.BUDGET_PERIOD_WEEK) return numberOf(dayOf(start) + 7);
  // `dayOf` treats month 13 as January of the following year.
  return start + 100;
}

function numberOf(day: number): number {
  const date = new Date(day * dayMs);
  return date.getUTCFullYear() * 10_000 + (date.getUTCMonth() + 1) * 100 + date.getUTCDate();
}

function dayOf(date: number): number {
  return Date.UTC(Math.floor(date / 10_000), (Math.floor(date / 100) % 100) - 1, date % 100) / dayMs;
}
