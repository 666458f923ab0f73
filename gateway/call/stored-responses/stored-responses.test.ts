import { beforeEach, describe, expect, it } from '@jest/globals';
import type { GetStoredPartsRequest, StoredResponse } from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import { ResponseStorage } from '#proto/metering/v1/metering.js';
import type { StoredResponseJson } from '../../formats/responses/stored.js';
import { storeFailureOf } from './store-failure.js';
import { createStoredResponses, type Owner, referencedItemsMax, type StoredResponses } from './stored-responses.js';

const owner: Owner = { accountId: 'acct_1', secret: 'sk-tg-secret' };
const item = (id: string, text: string): Record<string, unknown> => ({ id, type: 'message', role: 'assistant', content: text });
const response = (number: number, ...previousIds: string[]): StoredResponseJson => ({
  response: { id: `resp_${number}`, output: [item(`msg_${number}`, `answer ${number}`)] },
  input: [{ role: 'user', content: `question ${number}` }],
  previousIds,
});
const config = { storedResponseTtlMs: 86_400_000, keptAnswerBytesMax: 2000, bodyBytesMax: 4000, rpcTimeoutMs: 1000 };

describe('stored responses', () => {
  let parts: Map<string, Buffer>;
  let requests: GetStoredPartsRequest[];
  let onRequest: () => void;
  let store: StoredResponses;

  beforeEach(() => {
    parts = new Map();
    requests = [];
    onRequest = () => undefined;
    const key = (accountId: string, nameHash: Buffer): string => `${accountId} ${nameHash.toString('hex')}`;
    store = createStoredResponses({
      config,
      metering: {
        async getStoredParts(request) {
          requests.push(request);
          onRequest();
          // Three at once, so that the rest must be requested again.
          const { accountId, nameHashes } = request;
          const found = nameHashes.slice(0, 3).flatMap((nameHash) => {
            const content = parts.get(key(accountId, nameHash));
            return content === undefined ? [] : [{ nameHash, content }];
          });
          return { parts: found, remaining: nameHashes.slice(3) };
        },
        async deleteStoredParts({ accountId, nameHashes }) {
          for (const nameHash of nameHashes) parts.delete(key(accountId, nameHash));
          return {};
        },
      },
    });
    keep = async (stored) => {
      const sealed = (await store.seal(owner, stored))!;
      for (const { nameHash, content } of sealed.parts) parts.set(key(owner.accountId, nameHash), content);
      return sealed;
    };
  });
  let keep: (stored: StoredResponseJson) => Promise<StoredResponse>;

  it('are the response and its items, each under a name of its own, encrypted', async () => {
    const sealed = await keep(response(1));
    expect(sealed).toMatchObject({ keptMs: config.storedResponseTtlMs, parts: [{}, {}] });
    for (const { nameHash, content } of sealed.parts) {
      expect(nameHash).toHaveLength(32);
      expect(content.toString('latin1')).not.toMatch(/answer|question|resp_1/);
    }
    expect(await store.find(owner, 'resp_1')).toEqual(response(1));
    expect((await store.referred(owner, { previousId: undefined, itemIds: ['msg_1', 'msg_2'] })).items).toEqual(
      new Map([['msg_1', item('msg_1', 'answer 1')]]),
    );
  });

  it('are not found with another key of the account, or by another account', async () => {
    await keep(response(1));
    expect(await store.find({ ...owner, secret: 'sk-tg-other' }, 'resp_1')).toBeUndefined();
    expect(await store.find({ ...owner, accountId: 'acct_2' }, 'resp_1')).toBeUndefined();
  });

  it('that cannot be read because metering does not respond make the call retryable', async () => {
    onRequest = () => {
      throw new AppError('deadline_exceeded', 'metering did not answer in time.');
    };
    const refused = store.referred(owner, { previousId: 'resp_1', itemIds: [] });
    await expect(refused).rejects.toMatchObject({ reason: 'service_unavailable' });
  });

  it('are continued with the items of all before them, oldest first, which stay stored', async () => {
    await keep(response(1));
    await keep(response(2, 'resp_1'));
    await keep(response(3, 'resp_1', 'resp_2'));
    await keep(response(4, 'resp_1', 'resp_2', 'resp_3'));
    const { previousIds, continued } = await store.referred(owner, { previousId: 'resp_4', itemIds: [] });
    expect(previousIds).toEqual(['resp_1', 'resp_2', 'resp_3', 'resp_4']);
    expect(continued.map(({ content }) => content)).toEqual([1, 2, 3, 4].flatMap((number) => [`question ${number}`, `answer ${number}`]));
    expect(requests.every(({ keptMs }) => keptMs === config.storedResponseTtlMs)).toBe(true);
    expect(await store.continued(owner, ['resp_1', 'resp_9', 'resp_2'])).toHaveLength(4);
    await store.find(owner, 'resp_4');
    expect(requests.at(-1)!.keptMs).toBe(0);
  });

  it('cannot be continued if one before them is not stored', async () => {
    await keep(response(1));
    await keep(response(2, 'resp_1'));
    await store.delete(owner, response(1));
    expect(parts.size).toBe(2);
    for (const [previousId, named] of [
      ['resp_2', 'resp_1'],
      ['resp_9', 'resp_9'],
    ] as const)
      await expect(store.referred(owner, { previousId, itemIds: [] })).rejects.toMatchObject({
        reason: 'invalid_request',
        message: expect.stringContaining(`'${named}' not found`),
        details: { field: 'previous_response_id', code: 'previous_response_not_found' },
      });
  });

  it('are not found under the id of an item, nor items under that of a response', async () => {
    await keep(response(1));
    await expect(store.referred(owner, { previousId: 'msg_1', itemIds: [] })).rejects.toMatchObject({
      details: { code: 'previous_response_not_found' },
    });
    expect((await store.referred(owner, { previousId: undefined, itemIds: ['resp_1', 'msg_1'] })).items).toEqual(
      new Map([['msg_1', item('msg_1', 'answer 1')]]),
    );
  });

  it('are limited in size, by themselves and as all that a request refers to', async () => {
    const long = (number: number, bytes: number, ...previousIds: string[]): StoredResponseJson => ({
      ...response(number, ...previousIds),
      input: [{ role: 'user', content: 'x'.repeat(bytes) }],
    });
    expect(await store.seal(owner, long(1, 2001))).toBeUndefined();
    await keep(long(1, 1700));
    await keep(long(2, 1700, 'resp_1'));
    await keep(long(3, 1700, 'resp_1', 'resp_2'));
    await expect(store.referred(owner, { previousId: 'resp_2', itemIds: [] })).resolves.toBeDefined();
    await expect(store.referred(owner, { previousId: 'resp_3', itemIds: [] })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'input' },
    });
  });

  it('are looked up a thousand at a time, so that a request with very many references does not occupy the process', async () => {
    await keep(response(1999));
    let hashed = 0;
    const hashedBefore: number[] = [];
    onRequest = () => hashedBefore.push(hashed);
    const counting: Owner = {
      accountId: owner.accountId,
      get secret() {
        hashed += 1;
        return owner.secret;
      },
    };
    const itemIds = Array.from({ length: 2500 }, (_, index) => `msg_${index % 2000}`);
    const { items } = await store.referred(counting, { previousId: undefined, itemIds });
    expect([...items.keys()]).toEqual(['msg_1999']);
    expect(hashedBefore[0]).toBe(1000);
    // The secret is read once for each name.
    expect(hashed).toBe(2000);
  });

  it('are not looked up for a request with too many references', async () => {
    const itemIds = Array.from({ length: referencedItemsMax + 1 }, (_, index) => `msg_${index}`);
    await expect(store.referred(owner, { previousId: undefined, itemIds })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'input' },
      message: expect.stringContaining('input: has 5001 items of the type item_reference; at most 5000 are allowed'),
    });
    expect(requests).toEqual([]);
    await expect(store.referred(owner, { previousId: undefined, itemIds: itemIds.slice(1) })).resolves.toBeDefined();
  });

  it('let other work run between two lookups', async () => {
    const order: string[] = [];
    onRequest = () => {
      order.push('lookup');
      if (order.length === 1) setImmediate(() => order.push('other work'));
    };
    await store.referred(owner, { previousId: undefined, itemIds: Array.from({ length: 1001 }, (_, index) => `msg_${index}`) });
    expect(order.slice(-2)).toEqual(['other work', 'lookup']);
  });

  it('count as bodies while they are read', async () => {
    await keep(response(1));
    const counted: number[] = [];
    const bodies = { begin: () => ({ add: (bytes: number) => void counted.push(bytes), end: () => void counted.push(0) }) };
    await store.find({ ...owner, bodies }, 'resp_1');
    expect(counted).toEqual([JSON.stringify(response(1)).length, 0]);
  });

  it('are disabled if their retention time is 0', () => {
    expect(store.isOn).toBe(true);
    expect(createStoredResponses({ config: { ...config, storedResponseTtlMs: 0 }, metering: {} as never }).isOn).toBe(false);
  });
});

describe('why a response is not stored', () => {
  const tokens = {} as never;
  it.each([
    [ResponseStorage.RESPONSE_STORAGE_STORED, undefined],
    [ResponseStorage.RESPONSE_STORAGE_NO_ROOM, 'limit_reached'],
    [ResponseStorage.RESPONSE_STORAGE_TOO_LARGE, 'too_large'],
    [ResponseStorage.RESPONSE_STORAGE_GONE, 'expired'],
    [undefined, 'unavailable'],
  ] as const)('storage %s is reported as %s', async (storage, failure) => {
    expect(await storeFailureOf({ tokens, record: undefined, storage })).toBe(failure);
  });

  it('is looked up for a replayed call', async () => {
    const replayed = { tokens, record: undefined };
    expect(await storeFailureOf(replayed, async () => ({}))).toBeUndefined();
    expect(await storeFailureOf(replayed, async () => undefined)).toBe('expired');
    expect(await storeFailureOf(replayed, () => Promise.reject(new Error('Unavailable.')))).toBe('unavailable');
  });
});
