import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GroupBy } from '#proto/metering/v1/metering.js';
import type { UsageGrouping } from '../schemas/usage.js';
import { instantOf, usageGroupingOf } from './usage-filter.js';

const groupingOf = (address: string) => usageGroupingOf(Object.fromEntries(new URLSearchParams(address)) as UsageGrouping);

describe('the grouping of totals', () => {
  it.each([
    ['', { groupBy: GroupBy.GROUP_BY_UNSPECIFIED, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 }],
    ['group_by=hour&then_by=model&tz_offset=345', { groupBy: GroupBy.GROUP_BY_HOUR, thenBy: GroupBy.GROUP_BY_MODEL, offsetMinutes: 345 }],
    ['group_by=day&tz_offset=+840', { groupBy: GroupBy.GROUP_BY_DAY, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 840 }],
    ['group_by=key&then_by=day&tz_offset=-660', { groupBy: GroupBy.GROUP_BY_KEY, thenBy: GroupBy.GROUP_BY_DAY, offsetMinutes: -660 }],
    ['tz_offset=-0', { groupBy: GroupBy.GROUP_BY_UNSPECIFIED, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 }],
  ])('%s', (address, grouping) => expect(groupingOf(address)).toEqual(grouping));

  it.each([
    ['then_by', 'then_by=model'],
    ['then_by', 'group_by=model&then_by=model'],
    ['tz_offset', 'tz_offset=1e2'],
    ['tz_offset', 'tz_offset=10'],
    ['tz_offset', 'tz_offset=900'],
    ['tz_offset', 'tz_offset=Nepal'],
  ])('is refused with the name of %s: %s', (field, address) => {
    expect(() => groupingOf(address)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field }) }),
    );
  });
});

describe('a time in the query', () => {
  const zoneBefore = process.env['TZ'];
  beforeAll(() => void (process.env['TZ'] = 'Asia/Shanghai'));
  afterAll(() => {
    if (zoneBefore === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zoneBefore;
  });

  it.each([
    ['', 0],
    ['2026-11-20', Date.UTC(2026, 10, 20)],
    ['2026-11-20T12:00', Date.UTC(2026, 10, 20, 12)],
    ['2026-11-20T12:00:00.5', Date.UTC(2026, 10, 20, 12, 0, 0, 500)],
    ['2026-11-20T12:00:00Z', Date.UTC(2026, 10, 20, 12)],
    ['2026-11-20T12:00:00.000+05:30', Date.UTC(2026, 10, 20, 6, 30)],
  ])('is in UTC without a time zone, whatever that of the machine: %s', (text, ms) => expect(instantOf('from', text)).toBe(BigInt(ms)));

  it.each([
    '2026-11',
    '2026-13-01',
    '2026-02-31',
    '2026-02-29T12:00Z',
    '2026-11-20T',
    '2026-11-20T25:00',
    '2026-11-20T12:00:00 02:00',
    '1969-12-31',
    'T',
    'yesterday',
  ])('is refused with the name of the parameter: %s', (text) => {
    expect(() => instantOf('from', text)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field: 'from' }) }),
    );
  });
});
