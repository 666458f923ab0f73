import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import { call, report, startedAtMs } from '../../testing/calls.js';
import { Harness, record } from '../../testing/harness.js';
import { lastOfKeyText } from './key-activity.js';
import { bytesOf } from './record-rows.js';

describe.each(testEngines)('when keys were used last, on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  const [accountId, other] = [newId('acct'), newId('acct')];

  beforeAll(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  });

  afterAll(() => harness.close());

  const use = async (keyId: string, modelId: string, atMs: bigint, owner = accountId): Promise<string> =>
    (await record(service, report({ call: call({ accountId: owner, keyId, modelId, startedAtMs: startedAtMs + atMs }) }))).call!.id;

  it('is that of the call that started last, whichever was recorded last', async () => {
    const [busy, once, never] = [newId('key'), newId('key'), newId('key')];
    await use(busy, 'sandbox/echo', 1n);
    const last = await use(busy, 'sandbox/story', 3n);
    await use(busy, 'sandbox/echo', 2n);
    const only = await use(once, 'sandbox/tool', 1n);
    const { keys } = await service.batchGetKeyActivity({ accountId, keyIds: [busy, never, once, busy] });
    expect(keys.toSorted((a, b) => (a.keyId === busy ? -1 : 1) - (b.keyId === busy ? -1 : 1))).toEqual([
      { keyId: busy, lastCallId: last, lastStartedAtMs: startedAtMs + 3n, lastModelId: 'sandbox/story' },
      { keyId: once, lastCallId: only, lastStartedAtMs: startedAtMs + 1n, lastModelId: 'sandbox/tool' },
    ]);
  });

  it('is not visible to other accounts', async () => {
    const theirs = newId('key');
    await use(theirs, 'sandbox/echo', 1n, other);
    expect(await service.batchGetKeyActivity({ accountId, keyIds: [theirs] })).toEqual({ keys: [] });
  });

  it('is found for a full page of keys', async () => {
    const keyIds = Array.from({ length: 200 }, () => newId('key'));
    for (const keyId of keyIds.slice(0, 20)) await use(keyId, 'sandbox/echo', 5n);
    const { keys } = await service.batchGetKeyActivity({ accountId, keyIds });
    expect(keys.map(({ keyId }) => keyId).toSorted()).toEqual(keyIds.slice(0, 20).toSorted());
  });

  it.each([
    ['account_id', { accountId: 'me', keyIds: [newId('key')] }],
    ['key_ids', { accountId, keyIds: [] }],
    ['key_ids', { accountId, keyIds: ['key'] }],
    ['key_ids', { accountId, keyIds: Array.from({ length: 201 }, () => newId('key')) }],
  ])('is rejected for a malformed %s', async (field, request) => {
    await expect(service.batchGetKeyActivity(request)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('is read from the end of an index range', async () => {
    const [busy, rare] = [newId('key'), newId('key')];
    for (let index = 0n; index < 20n; index += 1n) await use(busy, 'sandbox/echo', index);
    await use(rare, 'sandbox/echo', 0n);
    const bindings = [bytesOf('acct', accountId), bytesOf('key', rare)];
    if (engine === 'sqlite') {
      const plan: { detail: string }[] = await harness.db.knex.raw(`EXPLAIN QUERY PLAN ${lastOfKeyText}`, bindings);
      expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH usage_record USING INDEX usage_record_by_key (account_id=? AND key_id=?)']);
    } else {
      const [plan] = (await harness.db.knex.raw(`EXPLAIN ${lastOfKeyText}`, bindings)) as [{ key: string; Extra: string }[]];
      expect(plan).toMatchObject([{ key: 'usage_record_by_key', Extra: expect.not.stringContaining('filesort') }]);
    }
  });
});
