import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDays, dayOf, daysIn, hoursIn, type OffsetAt, partsOf, startOfDay, startOfDayAgo } from './calendar.js';

/** Returns the offsets of a zone from the runtime's own tables. */
function offsetsOf(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  });
  return (ms) => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    return (
      (Date.UTC(parts['year']!, parts['month']! - 1, parts['day'], parts['hour'], parts['minute']) - Math.floor(ms / 60_000) * 60_000) /
      60_000
    );
  };
}

const newYork = offsetsOf('America/New_York');
const hourMs = 3_600_000;
const zones = [
  'UTC',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Havana',
  'Africa/Casablanca',
];

describe('days and hours of a zone', () => {
  it('split a range where clocks change, so that each part has one offset', () => {
    const [from, until] = [Date.parse('2026-10-30T04:00Z'), Date.parse('2026-11-03T05:00Z')];
    const change = Date.parse('2026-11-01T06:00Z');
    expect(partsOf(from, until, newYork)).toEqual([
      { fromMs: from, untilMs: change, offsetMinutes: -240 },
      { fromMs: change, untilMs: until, offsetMinutes: -300 },
    ]);
    expect(partsOf(from, until, offsetsOf('Asia/Kolkata'))).toEqual([{ fromMs: from, untilMs: until, offsetMinutes: 330 }]);
    expect(partsOf(until, from, newYork)).toEqual([]);
  });

  it('begin a number of days ago, with the offset of that day', () => {
    const nowMs = Date.parse('2026-11-03T12:00Z');
    expect(new Date(startOfDayAgo(0, nowMs, newYork)).toISOString()).toBe('2026-11-03T05:00:00.000Z');
    expect(new Date(startOfDayAgo(6, nowMs, newYork)).toISOString()).toBe('2026-10-28T04:00:00.000Z');
  });

  it('have a day of 25 hours in autumn and of 23 in spring', () => {
    const lengthOf = (day: string) => (startOfDay(addDays(day, 1), newYork) - startOfDay(day, newYork)) / hourMs;
    expect([lengthOf('2026-11-01'), lengthOf('2026-03-08'), lengthOf('2026-07-04')]).toEqual([25, 23, 24]);
    expect(hoursIn(startOfDay('2026-11-01', newYork), startOfDay('2026-11-02', newYork), newYork)).toHaveLength(25);
  });

  it('begin at UTC+14 while it is still the previous day in UTC', () => {
    expect(new Date(startOfDay('2026-11-20', offsetsOf('Pacific/Kiritimati'))).toISOString()).toBe('2026-11-19T10:00:00.000Z');
    expect(new Date(startOfDay('2026-11-20', offsetsOf('Asia/Kolkata'))).toISOString()).toBe('2026-11-19T18:30:00.000Z');
  });

  it('begin at one o’clock if midnight is skipped', () => {
    // In Cairo, summer time begins at midnight.
    expect(new Date(startOfDay('2026-04-24', offsetsOf('Africa/Cairo'))).toISOString()).toBe('2026-04-23T22:00:00.000Z');
  });

  it.each(zones)('contain every instant exactly once in %s', (zone) => {
    const offsetAt = offsetsOf(zone);
    const instant = fc
      .integer({ min: Date.parse('2025-01-01') / 60_000, max: Date.parse('2027-12-31') / 60_000 })
      .map((minutes) => minutes * 60_000);
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 120 * 24 * 60 }), (from, minutes) => {
        const until = from + minutes * 60_000;
        const parts = partsOf(from, until, offsetAt);
        expect([parts[0]!.fromMs, parts.at(-1)!.untilMs]).toEqual([from, until]);
        for (const [index, part] of parts.entries()) {
          if (index > 0) expect(part.fromMs).toBe(parts[index - 1]!.untilMs);
          for (const ms of [part.fromMs, part.untilMs - 60_000]) expect(offsetAt(ms)).toBe(part.offsetMinutes);
        }
        const days = daysIn(from, until, offsetAt);
        for (const ms of [from, until - 60_000]) {
          const day = dayOf(ms, offsetAt);
          expect(days).toContain(day);
          expect(startOfDay(day, offsetAt)).toBeLessThanOrEqual(ms);
          expect(startOfDay(addDays(day, 1), offsetAt)).toBeGreaterThan(ms);
        }
        const hours = hoursIn(from, until, offsetAt);
        expect(hours).toEqual(hours.toSorted((a, b) => a - b));
        expect(new Set(hours).size).toBe(hours.length);
      }),
      { numRuns: 25 },
    );
  });
});
