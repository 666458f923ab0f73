import { describe, expect, it } from '@jest/globals';
import { GroupBy } from '#proto/metering/v1/metering.js';
import type { UsageGrouping } from '../schemas/usage.js';
import { usageGroupingOf } from './usage-filter.js';

const asked = (address: string) => usageGroupingOf(Object.fromEntries(new URLSearchParams(address)) as UsageGrouping);

describe('the grouping of totals', () => {
  it.each([
    ['', { groupBy: GroupBy.GROUP_BY_UNSPECIFIED, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 }],
    ['group_by=hour&then_by=model&tz_offset=345', { groupBy: GroupBy.GROUP_BY_HOUR, thenBy: GroupBy.GROUP_BY_MODEL, offsetMinutes: 345 }],
    ['group_by=day&tz_offset=+840', { groupBy: GroupBy.GROUP_BY_DAY, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 840 }],
    ['group_by=key&then_by=day&tz_offset=-660', { groupBy: GroupBy.GROUP_BY_KEY, thenBy: GroupBy.GROUP_BY_DAY, offsetMinutes: -660 }],
    ['tz_offset=-0', { groupBy: GroupBy.GROUP_BY_UNSPECIFIED, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 }],
  ])('%s', (address, grouping) => expect(asked(address)).toEqual(grouping));

  it.each([
    ['then_by', 'then_by=model'],
    ['then_by', 'group_by=model&then_by=model'],
    ['tz_offset', 'tz_offset=1e2'],
    ['tz_offset', 'tz_offset=10'],
    ['tz_offset', 'tz_offset=900'],
    ['tz_offset', 'tz_offset=Nepal'],
  ])('is refused with the name of %s: %s', (field, address) => {
    expect(() => asked(address)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field }) }),
    );
  });
});
