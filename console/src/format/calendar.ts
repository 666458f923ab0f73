// Days and hours of a time zone with or without summer time, and the parts of a range that have a constant offset. Pure.

/** Minutes east of UTC at an instant of epoch milliseconds. */
export type OffsetAt = (ms: number) => number;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** A part of a range with a constant offset. */
export interface Part {
  readonly fromMs: number;
  /** The end, exclusive. */
  readonly untilMs: number;
  readonly offsetMinutes: number;
}

/** Splits the range where the clocks change. Returns no parts for an empty range. */
export function partsOf(fromMs: number, untilMs: number, offsetAt: OffsetAt): Part[] {
  const parts: Part[] = [];
  let startMs = fromMs;
  while (startMs < untilMs) {
    const offset = offsetAt(startMs);
    const endMs = nextChange(startMs, untilMs, offsetAt);
    parts.push({ fromMs: startMs, untilMs: endMs, offsetMinutes: offset });
    startMs = endMs;
  }
  return parts;
}

/** Returns the first instant after `fromMs` with a different offset, or `untilMs`. Clocks change on whole minutes, at most once per day. */
function nextChange(fromMs: number, untilMs: number, offsetAt: OffsetAt): number {
  const offset = offsetAt(fromMs);
  let before = fromMs;
  while (before < untilMs) {
    const after = Math.min(before + dayMs, untilMs);
    if (offsetAt(after) === offset) {
      before = after;
      continue;
    }
    let [low, high] = [Math.floor(before / minuteMs), Math.ceil(after / minuteMs)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetAt(middle * minuteMs) === offset) low = middle;
      else high = middle;
    }
    return Math.min(high * minuteMs, untilMs);
  }
  return untilMs;
}

/** Returns the day of an instant, as YYYY-MM-DD. */
export function dayOf(ms: number, offsetAt: OffsetAt): string {
  return new Date(ms + offsetAt(ms) * minuteMs).toISOString().slice(0, 10);
}

/** Returns the day `count` days after `day`. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10);
}

/** Returns the first instant of a day, which is not midnight if the clocks skip midnight. */
export function startOfDay(day: string, offsetAt: OffsetAt): number {
  const midnight = Date.parse(day);
  const near = partsOf(midnight - 2 * dayMs, midnight + 2 * dayMs, offsetAt);
  for (const part of near) {
    const startMs = Math.max(part.fromMs, midnight - part.offsetMinutes * minuteMs);
    if (startMs < part.untilMs && dayOf(startMs, offsetAt) >= day) return startMs;
  }
  return midnight;
}

/** Returns when the day `days` days ago began in the zone; 0 is today. */
export function startOfDayAgo(days: number, nowMs: number, offsetAt: OffsetAt): number {
  return startOfDay(addDays(dayOf(nowMs, offsetAt), -days), offsetAt);
}

/** Returns every day that overlaps the range, in order. */
export function daysIn(fromMs: number, untilMs: number, offsetAt: OffsetAt): string[] {
  if (fromMs >= untilMs) return [];
  const days: string[] = [];
  const last = dayOf(untilMs - 1, offsetAt);
  for (let day = dayOf(fromMs, offsetAt); day <= last; day = addDays(day, 1)) days.push(day);
  return days;
}

/** Returns the start of every hour in the zone that overlaps the range. */
export function hoursIn(fromMs: number, untilMs: number, offsetAt: OffsetAt): number[] {
  return partsOf(fromMs, untilMs, offsetAt).flatMap((part) => {
    const shiftMs = part.offsetMinutes * minuteMs;
    const hours: number[] = [];
    for (let ms = startOfHour(part.fromMs, shiftMs); ms < part.untilMs; ms += hourMs) hours.push(ms);
    return hours;
  });
}

function startOfHour(ms: number, shiftMs: number): number {
  return Math.floor((ms + shiftMs) / hourMs) * hourMs - shiftMs;
}
