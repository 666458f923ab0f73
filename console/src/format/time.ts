// Formats times in the chosen zone, UTC or the browser's. The zone is named wherever a time is shown.
import { useMemo } from 'react';
import { useLanguage } from '../i18n/text.js';
import type { OffsetAt } from './calendar.js';
import { storedChoice } from './stored-choice.js';

const zones = ['utc', 'local'] as const;
export type Zone = (typeof zones)[number];

const choice = storedChoice<Zone>('tollgate.zone', zones, () => 'local');

/** Returns the chosen zone. */
export const useZone = choice.use;

/** Chooses the zone. */
export const setZone = (zone: Zone): void => choice.set(zone);

/** Returns the minutes east of UTC at an instant. */
function offsetMinutes(zone: Zone, at: Date = new Date()): number {
  return zone === 'utc' ? 0 : -at.getTimezoneOffset();
}

/** Returns the offsets of the chosen zone. */
export function useOffsetAt(): OffsetAt {
  const zone = useZone();
  return useMemo(() => (ms: number) => offsetMinutes(zone, new Date(ms)), [zone]);
}

/** Returns the name of a zone, for example `UTC` or `UTC+05:30`. */
export function zoneName(zone: Zone, at: Date = new Date()): string {
  const minutes = offsetMinutes(zone, at);
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? '−' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`;
}

/** Formats times in the current language and zone. */
export interface TimeWriter {
  readonly zone: Zone;
  /** Formats date and time to the second, with the zone. */
  full(instant: string | number | Date): string;
  /** Formats date and time to the second. */
  second(instant: string | number | Date): string;
  /** Formats date and time to the minute. */
  minute(instant: string | number | Date): string;
  /** Formats date and time to the minute, with the year unless it is the current one: for the lines of a table. */
  line(instant: string | number | Date): string;
  /** The same to the second. */
  lineToSecond(instant: string | number | Date): string;
  /** Formats the time to the minute, with the date unless it is today. */
  short(instant: string | number | Date): string;
  /** Formats the date. */
  day(instant: string | number | Date): string;
  /** Formats a time relative to now, for example `5 minutes ago`, `in 3 days`. */
  relative(instant: string | number | Date): string;
}

/** Returns a formatter for this language and zone. */
function timeWriter(language: string, zone: Zone): TimeWriter {
  const timeZone = zone === 'utc' ? { timeZone: 'UTC' } : {};
  const date = { month: 'short', day: 'numeric' } as const;
  const toMinute = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const toSecond = { ...toMinute, second: '2-digit' } as const;
  const write = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(language, { ...options, ...timeZone });
    return (instant: string | number | Date) => format.format(new Date(instant));
  };
  const year = write({ year: 'numeric' });
  const day = write({ year: 'numeric', ...date });
  const minute = write({ year: 'numeric', ...date, ...toMinute });
  const second = write({ year: 'numeric', ...date, ...toSecond });
  const clock = write(toMinute);
  const line = (time: typeof toMinute, far: typeof minute) => {
    const near = write({ ...date, ...time });
    return (instant: string | number | Date) => (year(instant) === year(Date.now()) ? near : far)(instant);
  };
  const now = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  // "yesterday" would name a day, but 47 hours ago may be the day before.
  const distance = new Intl.RelativeTimeFormat(language);
  return {
    zone,
    day,
    minute,
    line: line(toMinute, minute),
    lineToSecond: line(toSecond, second),
    short: (instant) => (day(instant) === day(Date.now()) ? clock : minute)(instant),
    second,
    full: (instant) => `${second(instant)} ${zoneName(zone, new Date(instant))}`,
    relative(instant) {
      const seconds = (new Date(instant).getTime() - Date.now()) / 1000;
      const [unit, size] = unitOf(Math.abs(seconds));
      return (unit === 'second' ? now : distance).format(Math.trunc(seconds / size), unit);
    },
  };
}

function unitOf(seconds: number): [Intl.RelativeTimeFormatUnit, number] {
  if (seconds < 60) return ['second', 1];
  if (seconds < 3600) return ['minute', 60];
  if (seconds < 86_400) return ['hour', 3600];
  if (seconds < 86_400 * 60) return ['day', 86_400];
  return ['month', 86_400 * 30];
}

// All times on a page share a formatter, because creating its formats takes much longer than using them. The offset is part of the
// key because a browser's zone changes when its user travels.
const writers = new Map<string, TimeWriter>();

/** Returns the formatter for the current language and zone. */
export function useTime(): TimeWriter {
  const language = useLanguage();
  const zone = useZone();
  const id = `${language} ${zone} ${offsetMinutes(zone)}`;
  const writer = writers.get(id) ?? timeWriter(language, zone);
  writers.set(id, writer);
  return writer;
}
