import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import {
  type Account,
  AccountRateLimits,
  CreateAccountRequest,
  RateLimits,
  UpdateAccountRequest,
  UpdateKeyRequest,
} from '#proto/auth/v1/auth.js';
import { hashSecret } from '#rules/keys/key-secrets.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

describe.each(testEngines)('rate limits on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    account = await newAccount(auth.service);
  });
  afterAll(() => auth.stop());

  const ofAccount = async (rateLimits: Parameters<typeof AccountRateLimits.fromPartial>[0] | undefined) => {
    const request = UpdateAccountRequest.fromPartial({ accountId: account.id, updateMask: ['rate_limits'] });
    request.rateLimits = rateLimits === undefined ? undefined : AccountRateLimits.fromPartial(rateLimits);
    return (await auth.service.updateAccount(request, operator)).account!;
  };
  const ofKey = async (keyId: string, rateLimits: Parameters<typeof RateLimits.fromPartial>[0] | undefined) => {
    const request = UpdateKeyRequest.fromPartial({ accountId: account.id, keyId, updateMask: ['rate_limits'] });
    request.rateLimits = rateLimits === undefined ? undefined : RateLimits.fromPartial(rateLimits);
    return (await auth.service.updateKey(request, operator)).key!;
  };

  it('of a key are stored as they were set, with absent limits distinct from 0', async () => {
    const { key } = await newKey(auth.service, account, { rateLimits: { requestsPerMinute: 60, tokensPerMinute: 0 } });
    expect(key.rateLimits).toEqual({ requestsPerMinute: 60, tokensPerMinute: 0, concurrentCalls: undefined });
    expect(await auth.service.getKey({ keyId: key.id, accountId: account.id }, operator)).toEqual({ key });
    const changed = await ofKey(key.id, { concurrentCalls: 5 });
    expect(changed.rateLimits).toEqual({ requestsPerMinute: undefined, tokensPerMinute: undefined, concurrentCalls: 5 });
    expect(changed.version).toBe(2n);
    expect((await ofKey(key.id, { concurrentCalls: 5 })).version).toBe(2n);
    expect((await ofKey(key.id, undefined)).rateLimits).toBeUndefined();
  });

  it('of an account come with every authenticated key', async () => {
    const { key, secret } = await newKey(auth.service, account);
    const rateLimits = {
      allModels: { requestsPerMinute: 600 },
      models: [
        { modelId: 'b/model', limits: { tokensPerMinute: 9 } },
        { modelId: 'a/model', limits: { concurrentCalls: 1 } },
        { modelId: 'none', limits: {} },
      ],
    };
    const stored = (await ofAccount(rateLimits)).rateLimits!;
    expect(stored.models.map(({ modelId }) => modelId)).toEqual(['a/model', 'b/model']);
    expect(await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator)).toMatchObject({
      key: { id: key.id },
      accountRateLimits: stored,
    });
    expect((await ofAccount({ models: [] })).rateLimits).toBeUndefined();
  });

  it('can be set when an account is created', async () => {
    const request = CreateAccountRequest.fromPartial({ name: 'Limited', rateLimits: { allModels: { requestsPerMinute: 5 } } });
    const { account: created } = await auth.service.createAccount(request, operator);
    const { account: found } = await auth.service.getAccount({ accountId: created!.id }, operator);
    expect(found!.rateLimits).toEqual({
      allModels: { requestsPerMinute: 5, tokensPerMinute: undefined, concurrentCalls: undefined },
      models: [],
    });
  });

  it('are rejected when they are too high, or when a model has two', async () => {
    const { key } = await newKey(auth.service, account);
    await expect(ofKey(key.id, { requestsPerMinute: 1_000_001 })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field: 'rate_limits.requests_per_minute', max: '1000000' },
    });
    const twice = ['m', 'm'].map((modelId) => ({ modelId, limits: { requestsPerMinute: 1 } }));
    await expect(ofAccount({ models: twice })).rejects.toMatchObject({ details: { field: 'rate_limits.models' } });
    await expect(ofAccount({ models: [{ modelId: 'a b', limits: {} }] })).rejects.toMatchObject({
      details: { field: 'rate_limits.models' },
    });
  });
});
