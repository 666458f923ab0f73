import { describe, expect, it } from '@jest/globals';
import { BudgetPeriod } from '#proto/budget/v1/budget.js';
import { dateText, isoIn, isTimeZone, periodBounds, periodStart } from './calendar.js';

const { BUDGET_PERIOD_LIFETIME, BUDGET_PERIOD_MONTH, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_DAY } = BudgetPeriod;
const at = (iso: string): number => Date.parse(iso);

describe('The periods of a budget', () => {
  it.each([
    ['', '2026-11-30T23:59:59.999Z', [20261101, 20261130, 20261130]],
    ['', '2026-12-01T00:00:00.000Z', [20261201, 20261130, 20261201]],
    ['Asia/Shanghai', '2026-11-30T15:59:59.999Z', [20261101, 20261130, 20261130]],
    ['Asia/Shanghai', '2026-11-30T16:00:00.000Z', [20261201, 20261130, 20261201]],
    ['America/New_York', '2027-01-01T04:59:59.999Z', [20261201, 20261228, 20261231]],
    ['Asia/Kathmandu', '2026-11-29T18:15:00.000Z', [20261101, 20261130, 20261130]],
    // A Sunday belongs to the week of the Monday before it, also across a year.
    ['UTC', '2027-01-03T12:00:00.000Z', [20270101, 20261228, 20270103]],
    ['UTC', '2028-02-29T12:00:00.000Z', [20280201, 20280228, 20280229]],
  ])('begin by the calendar of %j at %s', (timeZone, iso, starts) => {
    expect([BUDGET_PERIOD_MONTH, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_DAY].map((period) => periodStart(period, timeZone, at(iso)))).toEqual(
      starts,
    );
    expect(periodStart(BUDGET_PERIOD_LIFETIME, timeZone, at(iso))).toBe(0);
  });

  it.each([
    // 23 and 25 hours long.
    ['America/New_York', BUDGET_PERIOD_DAY, 20270314, '2027-03-14T05:00:00.000Z', '2027-03-15T04:00:00.000Z'],
    ['America/New_York', BUDGET_PERIOD_DAY, 20271107, '2027-11-07T04:00:00.000Z', '2027-11-08T05:00:00.000Z'],
    ['Europe/Berlin', BUDGET_PERIOD_MONTH, 20261001, '2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z'],
    ['Europe/Berlin', BUDGET_PERIOD_WEEK, 20261019, '2026-10-18T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    // The clocks go from midnight to one o'clock, so the day has no midnight.
    ['Africa/Cairo', BUDGET_PERIOD_DAY, 20260424, '2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z'],
    // The zone skipped 30 December 2011.
    ['Pacific/Apia', BUDGET_PERIOD_DAY, 20111229, '2011-12-29T10:00:00.000Z', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Kiritimati', BUDGET_PERIOD_MONTH, 20261201, '2026-11-30T10:00:00.000Z', '2026-12-31T10:00:00.000Z'],
    ['Etc/GMT+12', BUDGET_PERIOD_MONTH, 20261201, '2026-12-01T12:00:00.000Z', '2027-01-01T12:00:00.000Z'],
  ])('end where the next begins, in %s (%d, %d)', (timeZone, period, start, from, until) => {
    const bounds = periodBounds(period, timeZone, start)!;
    expect([bounds.fromMs, bounds.untilMs].map((ms) => new Date(ms).toISOString())).toEqual([from, until]);
    expect(periodStart(period, timeZone, bounds.fromMs)).toBe(start);
    expect(periodStart(period, timeZone, bounds.untilMs - 1)).toBe(start);
    expect(periodStart(period, timeZone, bounds.untilMs)).not.toBe(start);
  });

  it('cover every instant once, through all changes of the clocks of a year', () => {
    for (const timeZone of ['America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Santiago', 'Asia/Beirut']) {
      const year = at('2027-12-31T00:00:00Z');
      for (let atMs = at('2026-12-31T00:00:00Z'); atMs < year;) {
        const { fromMs, untilMs } = periodBounds(BUDGET_PERIOD_DAY, timeZone, periodStart(BUDGET_PERIOD_DAY, timeZone, atMs))!;
        expect(atMs >= fromMs && atMs < untilMs).toBe(true);
        expect([22, 23, 23.5, 24, 24.5, 25, 26]).toContain((untilMs - fromMs) / 3_600_000);
        atMs = untilMs;
      }
    }
  });

  it('have the length of their kind, even if they begin on the same day', () => {
    const kinds = [BUDGET_PERIOD_DAY, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_MONTH];
    const ends = kinds.map((period) => new Date(periodBounds(period, '', 20270201)!.untilMs).toISOString().slice(0, 10));
    expect(ends).toEqual(['2027-02-02', '2027-02-08', '2027-03-01']);
  });

  it('have no end for a lifetime', () => {
    expect(periodBounds(BUDGET_PERIOD_LIFETIME, 'Europe/Berlin', 0)).toBeUndefined();
  });
});

it('shows an instant with the offset of the zone at that time', () => {
  expect(isoIn('', at('2026-12-01T00:00:00Z'))).toBe('2026-12-01T00:00:00+00:00');
  expect(isoIn('Asia/Kolkata', at('2026-11-30T18:30:00Z'))).toBe('2026-12-01T00:00:00+05:30');
  expect(isoIn('Europe/Berlin', at('2026-07-31T22:00:00Z'))).toBe('2026-08-01T00:00:00+02:00');
  expect(Date.parse(isoIn('America/St_Johns', at('2026-12-01T03:30:00Z')))).toBe(at('2026-12-01T03:30:00Z'));
  expect(dateText(20261101)).toBe('2026-11-01');
});

it('accepts IANA zones and nothing else', () => {
  expect(['', 'UTC', 'Asia/Shanghai', 'America/Argentina/Buenos_Aires'].map(isTimeZone)).toEqual([true, true, true, true]);
  expect(['Mars/Olympus', 'CET+25', ' ', 'Europe/Berlin '].map(isTimeZone)).toEqual([false, false, false, false]);
});
