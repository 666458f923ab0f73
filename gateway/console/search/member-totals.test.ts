import { describe, expect, it } from '@jest/globals';
import { GetUsageTotalsResponse_Group as Group, GroupBy } from '#proto/metering/v1/metering.js';
import type { OperationDeps } from '../deps.js';
import type { Call } from '../table/operation.js';
import { byCreator, keyCreators } from './member-totals.js';

const creators = new Map([
  ['key_1', 'user_ada'],
  ['key_2', 'user_bob'],
  ['key_3', 'user_ada'],
  ['key_4', ''],
]);
const group = (name: string, thenName: string, chargeNanoUsd: bigint): Group =>
  Group.fromPartial({
    name,
    thenName,
    chargeNanoUsd,
    calls: 2n,
    durationMs: 10n,
    units: [{ unit: 'requests', quantity: 1n, chargeNanoUsd: 3n }],
  });
const shown = (groups: readonly Group[]) =>
  groups.map(({ name, thenName, chargeNanoUsd, calls }) => [name, thenName, chargeNanoUsd, calls]);

describe('totals by member', () => {
  it('add up the keys that each user created, most expensive first, and the keys without a creator', () => {
    const groups = byCreator(
      [group('key_2', '', 9n), group('key_1', '', 6n), group('key_3', '', 5n), group('key_4', '', 1n), group('key_5', '', 1n)],
      'name',
      creators,
      GroupBy.GROUP_BY_UNSPECIFIED,
    );
    expect(shown(groups)).toEqual([
      ['user_ada', '', 11n, 4n],
      ['user_bob', '', 9n, 2n],
      ['', '', 2n, 4n],
    ]);
    expect(groups[0]).toMatchObject({ durationMs: 20n, units: [{ unit: 'requests', quantity: 2n, chargeNanoUsd: 6n }] });
  });

  it('within days keep the order of the days', () => {
    const days = [
      group('2026-11-01', 'key_1', 1n),
      group('2026-11-01', 'key_2', 5n),
      group('2026-11-02', 'key_3', 2n),
      group('2026-11-02', 'key_1', 2n),
    ];
    expect(shown(byCreator(days, 'thenName', creators, GroupBy.GROUP_BY_KEY))).toEqual([
      ['2026-11-01', 'user_bob', 5n, 2n],
      ['2026-11-01', 'user_ada', 1n, 2n],
      ['2026-11-02', 'user_ada', 4n, 4n],
    ]);
  });

  it('with days within members keep the order of the days', () => {
    const groups = [group('key_1', '2026-11-01', 1n), group('key_1', '2026-11-02', 9n), group('key_3', '2026-10-31', 2n)];
    expect(shown(byCreator(groups, 'name', creators, GroupBy.GROUP_BY_DAY)).map(([name, day]) => [name, day])).toEqual([
      ['user_ada', '2026-10-31'],
      ['user_ada', '2026-11-01'],
      ['user_ada', '2026-11-02'],
    ]);
  });
});

describe('the creators of keys', () => {
  it('are read for at most 100,000 keys', async () => {
    let pages = 0;
    const listKeys = async () => {
      pages += 1;
      return {
        keys: Array.from({ length: 1000 }, (_, index) => ({ id: `key_${pages}_${index}`, createdByUserId: '' })),
        nextPageToken: 'more',
      };
    };
    const call = { accountId: 'acct_1', context: () => undefined } as unknown as Call;
    const deps = { peers: { auth: { listKeys } } } as unknown as OperationDeps;
    await expect(keyCreators(call, 'group_by', deps)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'group_by' } });
    expect(pages).toBe(101);
  });
});
