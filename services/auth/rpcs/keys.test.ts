import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { idToBytes, newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  type Account,
  AccountState,
  CreateKeyRequest,
  type DeepPartial,
  KeyState,
  ListKeysRequest,
  UpdateAccountRequest,
  UpdateKeyRequest,
} from '#proto/auth/v1/auth.js';
import { hashSecret, isWellFormedSecret } from '#rules/keys/key-secrets.js';
import { keysMax } from '../store/keys.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from '../testing/auth.js';

describe.each(testEngines)('keys on %s', (engine) => {
  let auth: TestAuth;
  let account: Account;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    account = await newAccount(auth.service);
  });
  afterAll(() => auth.stop());

  const create = (fields: Parameters<typeof newKey>[2]) => newKey(auth.service, account, fields);
  const update = async (fields: DeepPartial<UpdateKeyRequest>, ...updateMask: string[]) =>
    (await auth.service.updateKey(UpdateKeyRequest.fromPartial({ accountId: account.id, ...fields, updateMask }), operator)).key!;
  const revoke = async (keyId: string, accountId = account.id) => (await auth.service.revokeKey({ keyId, accountId }, operator)).key!;
  const get = async (keyId: string) => (await auth.service.getKey({ keyId, accountId: account.id }, operator)).key!;
  const authenticate = (secret: string) => auth.service.authenticate({ secretHash: hashSecret(secret) }, operator);

  describe('are created', () => {
    it('with a secret that is well formed and ends in the characters shown', async () => {
      const { key, secret } = await create({});
      expect(isWellFormedSecret(secret)).toBe(true);
      expect(key.lastFour).toBe(secret.slice(-4));
      expect(key).toMatchObject({
        accountId: account.id,
        name: 'laptop',
        state: KeyState.KEY_STATE_ACTIVE,
        version: 1n,
        createdAtMs: BigInt(auth.clock.nowMs()),
      });
    });

    it('up to a maximum per account, which does not count revoked keys', async () => {
      const other = await newAccount(auth.service);
      const { key: first } = await newKey(auth.service, other);
      const row = (await auth.db
        .knex('platform_key')
        .where({ id: idToBytes('key', first.id) })
        .first()) as object;
      const copies = Array.from({ length: keysMax - 2 }, (_, index) => ({
        ...row,
        id: idToBytes('key', newId('key')),
        secret_hash: hashSecret(newId('key')),
        change_number: -1 - index,
      }));
      await auth.db.knex.batchInsert('platform_key', copies, 200);
      const created = await Promise.allSettled([1, 2].map(() => newKey(auth.service, other)));
      expect(created.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(created.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { reason: 'failed_precondition', details: { rule: 'keys_full' } },
      });
      await revoke(first.id, other.id);
      expect((await newKey(auth.service, other)).key.accountId).toBe(other.id);
      await auth.db.knex('platform_key').where('change_number', '<', 0).delete();
    });

    it('for all models, without a limit and without expiry by default', async () => {
      const { key } = await create({});
      expect(await get(key.id)).toMatchObject({
        models: { allModels: true, modelIds: [] },
        lifetimeLimitNanoUsd: undefined,
        expiresAtMs: undefined,
      });
    });

    it('with the requested fields, exact to the nano-dollar', async () => {
      const expiresAtMs = BigInt(auth.clock.nowMs() + 60_000);
      const { key } = await create({
        models: { modelIds: ['sandbox/echo', 'future/model', 'sandbox/echo'] },
        lifetimeLimitNanoUsd: 9_007_199_254_740_993n,
        expiresAtMs,
      });
      const stored = await get(key.id);
      expect(stored).toEqual(key);
      expect(stored).toMatchObject({
        models: { allModels: false, modelIds: ['sandbox/echo', 'future/model'] },
        lifetimeLimitNanoUsd: 9_007_199_254_740_993n,
        expiresAtMs,
      });
    });

    it('with as many as 150 models of 200 characters', async () => {
      const modelIds = Array.from({ length: 150 }, (_, index) => `${index}`.padStart(200, 'm'));
      const { key } = await create({ models: { modelIds } });
      expect((await get(key.id)).models?.modelIds).toEqual(modelIds);
    });

    it('with addresses and blocks of addresses, each once and in one spelling', async () => {
      const { key, secret } = await create({ allowedAddresses: ['192.0.2.7', '2001:DB8:0::/32', '2001:db8::/32', '192.0.2.7'] });
      expect(await get(key.id)).toEqual(key);
      expect(key.allowedAddresses).toEqual(['192.0.2.7', '2001:db8::/32']);
      expect((await authenticate(secret)).key).toEqual(key);
      const changed = await update({ keyId: key.id, allowedAddresses: ['198.51.100.0/24'] }, 'allowed_addresses');
      expect(changed).toEqual({ ...key, version: 2n, allowedAddresses: ['198.51.100.0/24'] });
      expect((await update({ keyId: key.id }, 'allowed_addresses')).allowedAddresses).toEqual([]);
    });

    it('in the name of the user for whom the caller acts, if there is one', async () => {
      const actor = { userId: newId('user'), sessionId: 'sess_1', email: 'ada@example.com', isOperator: true, clientAddress: '' };
      const context = { ...operator, actor: { ...actor, roles: new Map(), projectRoles: new Map() } };
      const { key } = await auth.service.createKey(CreateKeyRequest.fromPartial({ accountId: account.id, name: 'by Ada' }), context);
      expect((await get(key!.id)).createdByUserId).toBe(actor.userId);
      expect((await create({})).key.createdByUserId).toBe('');
    });

    it('once however often the call is repeated, with the secret only in the first response', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'Once', idempotencyKey: 'once' })));
      expect(new Set(answers.map(({ key }) => key.id)).size).toBe(1);
      const secrets = answers.map(({ secret }) => secret).filter((secret) => secret !== '');
      expect(secrets).toHaveLength(1);
      expect((await authenticate(secrets[0]!)).key?.id).toBe(answers[0]!.key.id);
    });

    it('once even when the call is repeated after the expiry', async () => {
      const fields = { idempotencyKey: 'brief', expiresAtMs: BigInt(auth.clock.nowMs() + 1000) };
      const { key } = await create(fields);
      auth.clock.advance(2000);
      expect(await create(fields)).toEqual({ key, secret: '' });
    });

    it('not with an idempotency key that created another key', async () => {
      await create({ idempotencyKey: 'taken', lifetimeLimitNanoUsd: 5n });
      await expect(create({ idempotencyKey: 'taken', lifetimeLimitNanoUsd: 6n })).rejects.toMatchObject({ reason: 'idempotency_mismatch' });
    });

    it('not for an account that does not exist', async () => {
      await expect(create({ accountId: newId('acct') })).rejects.toMatchObject({ reason: 'not_found', details: { what: 'account' } });
    });

    it.each([
      ['a malformed account id', { accountId: 'acct_1' }, 'account_id'],
      ['no name', { name: '' }, 'name'],
      ['no model at all', { models: { allModels: false } }, 'models.model_ids'],
      ['all models and some models', { models: { allModels: true, modelIds: ['a'] } }, 'models.model_ids'],
      ['an empty model id', { models: { modelIds: [''] } }, 'models.model_ids'],
      ['151 models', { models: { modelIds: Array.from({ length: 151 }, (_, index) => `m${index}`) } }, 'models.model_ids'],
      ['a limit of zero', { lifetimeLimitNanoUsd: 0n }, 'lifetime_limit_nano_usd'],
      ['an expiry in the past', { expiresAtMs: 1n }, 'expires_at_ms'],
      ['a name as an address', { allowedAddresses: ['example.com'] }, 'allowed_addresses'],
      ['51 addresses', { allowedAddresses: Array.from({ length: 51 }, (_, index) => `192.0.2.${index}`) }, 'allowed_addresses'],
      ['an expiry in microseconds', { expiresAtMs: 1_900_000_000_000_000n }, 'expires_at_ms'],
    ])('not with %s', async (_, fields, field) => {
      await expect(create(fields)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
    });
  });

  describe('authenticate', () => {
    it('by their secret, and by no other', async () => {
      const { key, secret } = await create({});
      const other = await create({});
      expect(await authenticate(secret)).toMatchObject({ key, accountState: AccountState.ACCOUNT_STATE_ACTIVE, accountStateReason: '' });
      expect((await authenticate(other.secret)).key?.id).toBe(other.key.id);
      await expect(authenticate(`${secret.slice(0, -1)}-`)).rejects.toMatchObject({ reason: 'key_unknown' });
    });

    it('in any state, which the response contains', async () => {
      const { key, secret } = await create({ expiresAtMs: BigInt(auth.clock.nowMs() + 1000) });
      auth.clock.advance(5000);
      await update({ keyId: key.id, state: KeyState.KEY_STATE_DISABLED }, 'state');
      expect((await authenticate(secret)).key).toMatchObject({ state: KeyState.KEY_STATE_DISABLED, expiresAtMs: key.expiresAtMs });
      await revoke(key.id);
      expect((await authenticate(secret)).key?.state).toBe(KeyState.KEY_STATE_REVOKED);
    });

    it('with the state of their account', async () => {
      const suspended = await newAccount(auth.service);
      const { secret } = await newKey(auth.service, suspended);
      await auth.service.updateAccount(
        UpdateAccountRequest.fromPartial({ accountId: suspended.id, state: AccountState.ACCOUNT_STATE_SUSPENDED, updateMask: ['state'] }),
        operator,
      );
      expect((await authenticate(secret)).accountState).toBe(AccountState.ACCOUNT_STATE_SUSPENDED);
    });

    it('not by a value that is not a SHA-256', async () => {
      await expect(auth.service.authenticate({ secretHash: Buffer.alloc(31) }, operator)).rejects.toMatchObject({
        details: { field: 'secret_hash' },
      });
    });
  });

  describe('are changed', () => {
    it('only in the fields of the mask', async () => {
      const { key } = await create({ models: { modelIds: ['a'] }, lifetimeLimitNanoUsd: 5n });
      expect(await update({ keyId: key.id, name: 'server' }, 'name')).toEqual({ ...key, name: 'server', version: 2n });
      expect(await update({ keyId: key.id, models: { allModels: true } }, 'models')).toMatchObject({
        models: { allModels: true, modelIds: [] },
        lifetimeLimitNanoUsd: 5n,
        version: 3n,
      });
      expect(await get(key.id)).toMatchObject({ name: 'server', version: 3n });
    });

    it('by setting and clearing limit and expiry', async () => {
      const { key } = await create({});
      const expiresAtMs = BigInt(auth.clock.nowMs() + 1000);
      await update({ keyId: key.id, lifetimeLimitNanoUsd: 7n, expiresAtMs }, 'lifetime_limit_nano_usd', 'expires_at_ms');
      expect(await get(key.id)).toMatchObject({ lifetimeLimitNanoUsd: 7n, expiresAtMs });
      await update({ keyId: key.id }, 'lifetime_limit_nano_usd', 'expires_at_ms');
      expect(await get(key.id)).toMatchObject({ lifetimeLimitNanoUsd: undefined, expiresAtMs: undefined, version: 3n });
    });

    it('by disabling and enabling', async () => {
      const { key } = await create({});
      expect((await update({ keyId: key.id, state: KeyState.KEY_STATE_DISABLED }, 'state')).state).toBe(KeyState.KEY_STATE_DISABLED);
      expect((await update({ keyId: key.id, state: KeyState.KEY_STATE_ACTIVE }, 'state')).state).toBe(KeyState.KEY_STATE_ACTIVE);
    });

    it('without a new version when nothing changes', async () => {
      const { key } = await create({ models: { modelIds: ['a', 'b'] } });
      const same = { keyId: key.id, name: 'laptop', models: { modelIds: ['a', 'b'] } };
      expect(await update(same, 'name', 'models', 'lifetime_limit_nano_usd')).toEqual(key);
    });

    it.each([
      ['an empty mask', { name: 'x' }, [], 'update_mask'],
      ['a field that cannot be changed', { name: 'x' }, ['name', 'account_id'], 'update_mask'],
      ['the state that RevokeKey sets', { state: KeyState.KEY_STATE_REVOKED }, ['state'], 'state'],
      ['no state', {}, ['state'], 'state'],
      ['a blank name', { name: ' ' }, ['name'], 'name'],
      ['a negative limit', { lifetimeLimitNanoUsd: -1n }, ['lifetime_limit_nano_usd'], 'lifetime_limit_nano_usd'],
      ['an expiry in the past', { expiresAtMs: 1n }, ['expires_at_ms'], 'expires_at_ms'],
    ])('not by %s', async (_, fields, mask, field) => {
      const { key } = await create({});
      await expect(update({ keyId: key.id, ...fields }, ...mask)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
      expect(await get(key.id)).toEqual(key);
    });

    it('not through another account', async () => {
      const { key } = await create({});
      const other = (await newAccount(auth.service)).id;
      const notFound = { reason: 'not_found', details: { what: 'key' } };
      await expect(update({ keyId: key.id, accountId: other, name: 'x' }, 'name')).rejects.toMatchObject(notFound);
      await expect(auth.service.rotateKey({ keyId: key.id, accountId: other, overlapMs: 0 }, operator)).rejects.toMatchObject(notFound);
      await expect(revoke(key.id, other)).rejects.toMatchObject(notFound);
      await expect(auth.service.getKey({ keyId: key.id, accountId: other }, operator)).rejects.toMatchObject(notFound);
      expect(await auth.service.getKey({ keyId: key.id, accountId: '' }, operator)).toEqual({ key });
    });

    it('not when they do not exist', async () => {
      await expect(update({ keyId: newId('key'), name: 'x' }, 'name')).rejects.toMatchObject({
        reason: 'not_found',
        details: { what: 'key' },
      });
      await expect(revoke(newId('key'))).rejects.toMatchObject({ reason: 'not_found' });
      await expect(get(newId('acct'))).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'key_id' } });
    });
  });

  describe('are revoked', () => {
    it('permanently', async () => {
      const { key } = await create({});
      const revokedAtMs = BigInt(auth.clock.nowMs());
      expect(await revoke(key.id)).toEqual({ ...key, state: KeyState.KEY_STATE_REVOKED, revokedAtMs, version: 2n });
      await expect(update({ keyId: key.id, state: KeyState.KEY_STATE_ACTIVE }, 'state')).rejects.toMatchObject({
        reason: 'failed_precondition',
      });
      await expect(update({ keyId: key.id, name: 'again' }, 'name')).rejects.toMatchObject({ reason: 'failed_precondition' });
    });

    it('once: a repeat changes nothing', async () => {
      const { key } = await create({});
      const first = await revoke(key.id);
      auth.clock.advance(1000);
      expect(await revoke(key.id)).toEqual(first);
    });
  });

  it('are listed by account in pages, oldest or newest first, revoked ones included', async () => {
    const owner = await newAccount(auth.service);
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      auth.clock.advance(1);
      ids.push((await newKey(auth.service, owner)).key.id);
    }
    await revoke(ids[0]!, owner.id);
    const list = (fields: Partial<ListKeysRequest>) =>
      auth.service.listKeys(ListKeysRequest.fromPartial({ accountId: owner.id, ...fields }), operator);

    const first = await list({ pageSize: 2 });
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken });
    expect([...first.keys, ...second.keys].map((key) => key.id)).toEqual(ids);
    expect(second.nextPageToken).toBe('');
    const newest = await list({ pageSize: 2, newestFirst: true });
    const oldest = await list({ pageSize: 2, newestFirst: true, pageToken: newest.nextPageToken });
    expect([...newest.keys, ...oldest.keys].map((key) => key.id)).toEqual(ids.toReversed());
    expect(oldest.nextPageToken).toBe('');
    await expect(list({ pageToken: 'x' })).rejects.toMatchObject({ details: { field: 'page_token' } });
    await expect(list({ accountId: newId('acct') })).rejects.toMatchObject({ reason: 'not_found' });
  });

  describe('are rotated', () => {
    const rotate = (keyId: string, overlapMs: number) => auth.service.rotateKey({ keyId, accountId: account.id, overlapMs }, operator);

    it('to a new secret, while the old one is recognised as previous and expires after the overlap', async () => {
      const { key, secret } = await create({ lifetimeLimitNanoUsd: 5n });
      const untilMs = BigInt(auth.clock.nowMs()) + 3_600_000n;
      const rotated = await rotate(key.id, 3_600_000);
      expect(isWellFormedSecret(rotated.secret)).toBe(true);
      expect(rotated.secret).not.toBe(secret);
      expect(rotated.key).toEqual({
        ...key,
        lastFour: rotated.secret.slice(-4),
        version: 2n,
        secretVersion: 2n,
        previousSecretsExpireAtMs: untilMs,
      });
      expect(await get(key.id)).toEqual(rotated.key);
      expect(await authenticate(rotated.secret)).toMatchObject({ key: rotated.key, secretExpiresAtMs: undefined });
      expect(await authenticate(secret)).toMatchObject({ key: rotated.key, secretExpiresAtMs: untilMs });
    });

    it('immediately when there is no overlap, whatever earlier rotations allowed', async () => {
      const { key, secret } = await create({});
      const second = await rotate(key.id, 86_400_000);
      const third = await rotate(key.id, 0);
      const nowMs = BigInt(auth.clock.nowMs());
      expect(third.key).toMatchObject({ secretVersion: 3n, previousSecretsExpireAtMs: undefined });
      for (const former of [secret, second.secret]) expect(await authenticate(former)).toMatchObject({ secretExpiresAtMs: nowMs });
    });

    it('without invalidating the secret in use when a response is lost', async () => {
      const { key, secret } = await create({});
      await rotate(key.id, 1000);
      await rotate(key.id, 86_400_000);
      expect(await authenticate(secret)).toMatchObject({ secretExpiresAtMs: BigInt(auth.clock.nowMs()) + 1000n });
    });

    it('concurrently without losing a rotation', async () => {
      const { key } = await create({});
      const secrets = await Promise.all(Array.from({ length: 5 }, async () => (await rotate(key.id, 60_000)).secret));
      const found = await Promise.all(secrets.map(authenticate));
      expect(found.filter(({ secretExpiresAtMs }) => secretExpiresAtMs === undefined)).toHaveLength(1);
      expect((await get(key.id)).secretVersion).toBe(6n);
    });

    it('not when revoked, unknown or for longer than 30 days', async () => {
      const { key } = await create({});
      await expect(rotate(key.id, 30 * 86_400_000 + 1)).rejects.toMatchObject({
        reason: 'invalid_request',
        details: { field: 'overlap_ms' },
      });
      await expect(rotate(newId('key'), 0)).rejects.toMatchObject({ reason: 'not_found' });
      await revoke(key.id);
      await expect(rotate(key.id, 0)).rejects.toMatchObject({ reason: 'failed_precondition' });
    });
  });
});
