import { describe, expect, it } from '@jest/globals';
import type { Page } from '../../../api/client.js';
import type { UsageRecord } from '../../../api/usage.js';
import { type Loaded, withNewest } from './newest.js';

const record = (second: number, more: Partial<UsageRecord> = {}) =>
  ({
    request_id: `req_${second}`,
    started_at: new Date(Date.parse('2026-11-22T00:00:00Z') + second * 1000).toISOString(),
    settlement: null,
    ...more,
  }) as UsageRecord;
const page = (seconds: readonly number[], next: string | null = null): Page<UsageRecord> => ({
  data: seconds.map((second) => record(second)),
  next,
});
const list = (...pages: Page<UsageRecord>[]): Loaded => ({
  pages,
  pageParams: pages.map((_, index) => (index === 0 ? null : `cursor${index}`)),
});
const ids = (loaded: Loaded) => loaded.pages.map(({ data }) => data.map(({ request_id }) => Number(request_id.slice(4))));

describe('the newest calls', () => {
  it('are added to the top of the list, once, and the pages below stay', () => {
    const { loaded, added } = withNewest(list(page([9, 8], 'a'), page([7, 6], 'b')), page([11, 10, 9], 'c'));
    expect([ids(loaded), added, loaded.pages.map(({ next }) => next)]).toEqual([
      [
        [11, 10, 9, 8],
        [7, 6],
      ],
      2,
      ['a', 'b'],
    ]);
    expect(withNewest(loaded, page([11, 10, 9], 'c'))).toMatchObject({ added: 0 });
  });

  it('are placed by their start if they took long', () => {
    expect(ids(withNewest(list(page([9, 7], 'a')), page([9, 8, 7], 'b')).loaded)).toEqual([[9, 8, 7]]);
  });

  it('update calls that are shown', () => {
    const settlement = { captured_usd: '1', shortfall_usd: '0', settled_at: '2026-11-22T00:01:00.000Z' };
    const { loaded, added } = withNewest(list(page([9, 8], 'a'), page([7])), {
      data: [record(9, { settlement }), record(8), record(7, { settlement })],
      next: null,
    });
    expect([added, loaded.pages[0]!.data[0]!.settlement, loaded.pages[1]!.data[0]!.settlement]).toEqual([0, settlement, settlement]);
  });

  it('replace the list if calls may be missing in between', () => {
    expect(ids(withNewest(list(page([3, 2], 'a'), page([1])), page([9, 8], 'b')).loaded)).toEqual([[9, 8]]);
    expect(ids(withNewest(list(page([])), page([2, 1])).loaded)).toEqual([[2, 1]]);
  });

  it('replace a list that grew by them for hours', () => {
    let loaded = list(page([1, 0], 'a'));
    for (let second = 2; second < 2000; second += 1) loaded = withNewest(loaded, page([second, second - 1, second - 2], 'b')).loaded;
    const [shown] = ids(loaded);
    expect(shown!.length).toBeLessThanOrEqual(500);
    expect(shown).toEqual(shown!.map((_, index) => 1999 - index));
  });
});
