import { describe, expect, it } from '@jest/globals';
import type { OffsetAt } from '../../format/calendar.js';
import {
  boundsOf,
  daysOfBounds,
  filterOf,
  grainOf,
  grainsOf,
  previousStart,
  rangeOfDays,
  readView,
  searchOf,
  type UsageView,
  writeView,
} from './view.js';

const utc: OffsetAt = () => 0;
const kolkata: OffsetAt = () => 330;
const kiritimati: OffsetAt = () => 840;
const changeMs = Date.parse('2026-11-01T06:00Z');
const newYork: OffsetAt = (ms) => (ms < changeMs ? -240 : -300);
const now = Date.parse('2026-11-03T20:10:30Z');
const dayMs = 86_400_000;
const startOf = (...args: Parameters<typeof boundsOf>) => new Date(boundsOf(...args).fromMs!).toISOString();

describe('the view of the usage pages', () => {
  it.each([
    '',
    '?range=30d&project=proj_1&key=key_1&member=none&model=sandbox%2Fecho&outcome=timeout&group=key&measure=calls&by=hour',
    '?from=2026-11-01T00%3A00%3A00.000Z&until=2026-11-02T00%3A00%3A00.000Z&request_id=req_1',
    '?range=all',
  ])('is restored from the address unchanged: %s', (address) => expect(writeView(readView(address))).toBe(address));

  it('ignores invalid values in the address', () => {
    expect(writeView(readView('?range=8d&from=yesterday&by=week&group=nobody&measure=joy'))).toBe('');
    // The API has no such instants.
    expect(writeView(readView('?from=1969-12-31T00:00Z&until=%2B012026-11-20T00:00:00.000Z'))).toBe('');
  });

  it('begins with whole hours and days of the zone', () => {
    expect(startOf('24h', now, utc)).toBe('2026-11-02T21:00:00.000Z');
    expect(startOf('24h', now, kolkata)).toBe('2026-11-02T20:30:00.000Z');
    expect(startOf('7d', now, utc)).toBe('2026-10-28T00:00:00.000Z');
    // It is already the fourth there.
    expect(startOf('7d', now, kiritimati)).toBe('2026-10-28T10:00:00.000Z');
    expect(startOf('month', now, kiritimati)).toBe('2026-10-31T10:00:00.000Z');
    expect(startOf('month', Date.parse('2026-11-30T22:00Z'), kolkata)).toBe('2026-11-30T18:30:00.000Z');
    // Midnight was in summer time.
    expect(startOf('7d', now, newYork)).toBe('2026-10-28T04:00:00.000Z');
    expect(startOf('month', now, newYork)).toBe('2026-11-01T04:00:00.000Z');
  });

  it('compares with as many days before, at any time of the day, or with the previous month', () => {
    const before = (range: '7d' | 'month', instant: string, offsetAt = utc): string => {
      const [nowMs, untilMs] = [Date.parse(instant), Date.parse(instant) + 1];
      return new Date(previousStart(boundsOf(range, nowMs, offsetAt).fromMs!, untilMs, offsetAt)).toISOString();
    };
    for (const time of ['00:00', '05:00', '12:00', '23:59'])
      expect([time, before('7d', `2026-11-27T${time}Z`)]).toEqual([time, '2026-11-14T00:00:00.000Z']);
    // With a day of 25 hours.
    expect(before('7d', '2026-11-05T04:30Z', newYork)).toBe('2026-10-22T04:00:00.000Z');
    expect(before('month', '2026-11-27T05:00Z')).toBe('2026-10-01T00:00:00.000Z');
  });

  it('converts days to instants and back, including both days', () => {
    const range = rangeOfDays('2026-10-31', '2026-11-01', newYork);
    expect(range).toEqual({ from: '2026-10-31T04:00:00.000Z', until: '2026-11-02T05:00:00.000Z' });
    expect(daysOfBounds(boundsOf(range, now, newYork), newYork)).toEqual({ first: '2026-10-31', last: '2026-11-01' });
    expect(daysOfBounds(boundsOf(rangeOfDays('2026-10-31', '', newYork), now, newYork), newYork)).toEqual({
      first: '2026-10-31',
      last: '',
    });
  });

  it('sends only the chosen filters', () => {
    const view: UsageView = readView('?model=sandbox%2Fecho&request_id=req_1');
    expect(filterOf(view, boundsOf('all', now, utc))).toEqual({ model: 'sandbox/echo' });
    expect(filterOf(readView('?member=user_1'), boundsOf('all', now, utc))).toEqual({ member: 'user_1' });
    expect(searchOf(view, { fromMs: 0, untilMs: undefined })).toEqual({
      model: 'sandbox/echo',
      request_id: 'req_1',
      from: '1970-01-01T00:00:00.000Z',
    });
  });

  it('draws hours for a few days, days for up to a year, and nothing beyond', () => {
    expect([
      grainOf(undefined, dayMs),
      grainOf(undefined, 7 * dayMs),
      grainOf('hour', 7 * dayMs),
      grainOf('hour', 30 * dayMs),
      grainOf('day', dayMs),
    ]).toEqual(['hour', 'day', 'hour', 'day', 'day']);
    expect([grainsOf(dayMs), grainsOf(30 * dayMs), grainsOf(400 * dayMs), grainOf('day', 400 * dayMs)]).toEqual([
      ['hour', 'day'],
      ['day'],
      [],
      undefined,
    ]);
  });
});
