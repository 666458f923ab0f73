import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { secretKey, writeSecretKeys } from '#kit/secrets/secret-key.js';
import type { SealedSecret } from '#kit/secrets/secret-keeper.js';
import { fixedSecretKeys, type SecretKeySource, SecretKeyFile } from '#kit/secrets/secret-keys.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import { callContext } from '#client/call-context.js';
import type { AppError } from '#client/errors/app-error.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { recordingLogger } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { recordedAudit } from '#kit/testing/audit.js';
import { ApiFormat, type InferenceService, OverrideMode, type PutUpstreamRequest, Upstream } from '#proto/inference/v1/inference.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import { type InferenceConfig, inferenceSettings } from '../config.js';
import { createInference } from '../index.js';
import { readSealedSecrets } from '../sealed-secrets.js';
import { storedUpstreamsMax, type UpstreamRow, UpstreamStore } from '../store.js';
import { collect, finishedOf, localUpstream, testConfig, textRequest } from '../testing/fixtures.js';

const operator = callContext({ caller: 'operator' });
const key = randomBytes(32);
const secretKeys = fixedSecretKeys(key);
const { log, lines } = recordingLogger('debug');

describe.each(testEngines)('upstreams on %s', (engine) => {
  let database: TestDatabase;
  let stub: StubUpstream;
  let clock: ManualClock;
  let inference: ServiceModule<InferenceService>;
  let service: InferenceService;

  beforeEach(async () => {
    database = await createTestDatabase(engine);
    stub = await startStubUpstream();
    clock = new ManualClock();
    inference = await start(database.db);
    service = inference.service;
  });

  afterEach(async () => {
    await inference.stop();
    await stub.stop();
    await database.drop();
  });

  async function start(
    db: Database,
    changes: Partial<InferenceConfig> = {},
    keys: SecretKeySource = secretKeys,
  ): Promise<ServiceModule<InferenceService>> {
    const module = createInference(testConfig(changes), { db, clock, log, secretKeys: keys, auth: recordedAudit() });
    await module.start();
    return module;
  }

  const wanted = (changes: Partial<Upstream> = {}): Upstream => localUpstream(stub.baseUrl, { id: 'mine', limits: {}, ...changes });
  const put = (changes: Partial<Upstream> = {}, secret: string | undefined = stubApiKey) =>
    service.putUpstream({ upstream: wanted(changes), secret }, operator);
  const call = (from = service) => collect(from, textRequest('Hi', { targets: [{ upstreamId: 'mine', upstreamModel: 'text' }] }));

  it('are disabled when their only credential is discarded with a lost key, until it is set again', async () => {
    await put();
    const [secret] = await readSealedSecrets(new UpstreamStore(database.db));
    await secret!.replace(undefined);
    const restarted = (await start(database.db)).service;
    expect((await restarted.listUpstreams({}, operator)).upstreams).toContainEqual(
      expect.objectContaining({ id: 'mine', enabled: false, hasSecret: false }),
    );
    expect(await call(restarted).catch((error: AppError) => error.reason)).toBe('model_unavailable');
    expect(stub.requests).toHaveLength(0);
    await restarted.putUpstream({ upstream: wanted(), secret: stubApiKey }, operator);
    expect(finishedOf(await call(restarted))).toBeDefined();
  });

  it('take the overrides of a credential that is discarded with a lost key', async () => {
    await put();
    await service.putCredential({ upstreamId: 'mine', credentialId: 'second', secret: stubApiKey }, operator);
    for (const credentialId of ['default', 'second']) {
      const target = { upstreamId: 'mine', upstreamModel: 'text', credentialId, mode: OverrideMode.OVERRIDE_MODE_DRAIN, ejectForMs: 0 };
      await service.overrideTarget(target, operator);
    }
    const [secret] = await readSealedSecrets(new UpstreamStore(database.db));
    await secret!.replace(undefined);
    expect((await service.listTargetHealth({}, operator)).overrides).toMatchObject([{ credentialId: 'second' }]);
  });

  it('lose the result of a test with a credential that is discarded with a lost key, but not when it is sealed again', async () => {
    await put();
    await service.testUpstream({ upstreamId: 'mine', upstreamModel: undefined, probes: [] }, operator);
    const lastTest = async () => (await service.listUpstreams({ withTests: true }, operator)).upstreams.at(-1)?.lastTest?.ok;
    const store = new UpstreamStore(database.db);
    const box = new SecretBox(secretKeys);
    const [{ purpose, replace }] = (await readSealedSecrets(store)) as [SealedSecret];
    await replace(box.seal(stubApiKey, purpose));
    expect(await lastTest()).toBe(true);
    const [resealed] = await readSealedSecrets(store);
    await resealed!.replace(undefined);
    expect(await lastTest()).toBeUndefined();
  });

  it('begin with the sandbox alone', async () => {
    expect((await service.listUpstreams({}, operator)).upstreams).toMatchObject([
      { id: 'sandbox', apiFormat: ApiFormat.API_FORMAT_SANDBOX, managed: true, enabled: true },
    ]);
    expect(await inference.ready()).toEqual({ ok: true });
  });

  it('are added, used, listed without their secret, and removed', async () => {
    const { upstream } = await put();
    const setAtMs = BigInt(clock.nowMs());
    expect(upstream).toEqual({
      ...wanted(),
      hasSecret: true,
      secretLastFour: 'cret',
      credentials: [{ id: 'default', lastFour: 'cret', setAtMs }],
      createdAtMs: setAtMs,
    });
    expect(finishedOf(await call()).usageReported).toBe(true);
    expect(stub.requests[0]!.headers.authorization).toBe(`Bearer ${stubApiKey}`);
    expect((await service.listUpstreams({}, operator)).upstreams.map(({ id }) => id)).toEqual(['sandbox', 'mine']);
    await service.deleteUpstream({ upstreamId: 'mine' }, operator);
    await expect(call()).rejects.toMatchObject({ reason: 'model_unavailable' });
    await expect(service.deleteUpstream({ upstreamId: 'mine' }, operator)).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('are replaced: an absent secret is kept, an empty one removes it, a disabled upstream is not used', async () => {
    await put();
    const createdAtMs = BigInt(clock.nowMs());
    clock.advance(5000);
    const moved = await service.putUpstream({ upstream: wanted({ baseUrl: `${stub.baseUrl}/` }) } as PutUpstreamRequest, operator);
    expect(moved.upstream).toMatchObject({ baseUrl: stub.baseUrl, secretLastFour: 'cret', createdAtMs });
    expect(finishedOf(await call()).usageReported).toBe(true);
    expect((await put({}, 'short')).upstream).toMatchObject({ hasSecret: true, secretLastFour: '' });
    expect((await put({}, '')).upstream).toMatchObject({ hasSecret: false, secretLastFour: '' });
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_unavailable' });
    await put({ enabled: false });
    await expect(call()).rejects.toMatchObject({ reason: 'model_unavailable' });
  });

  it('keep their other credentials when the address changes on the same server, and lose them when they move to another', async () => {
    await put();
    const add = (credentialId: string, secret: string) => service.putCredential({ upstreamId: 'mine', credentialId, secret }, operator);
    await add('second', 'secret-of-the-second');
    const moved = await service.putUpstream({ upstream: wanted({ baseUrl: `${stub.baseUrl}/other` }) }, operator);
    expect(moved.upstream!.credentials.map(({ id, lastFour }) => [id, lastFour])).toEqual([
      ['default', 'cret'],
      ['second', 'cond'],
    ]);
    await service.putUpstream({ upstream: wanted() }, operator);
    const rows = JSON.stringify(await database.db.knex('upstream').select(), (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : typeof value === 'bigint' ? String(value) : value,
    );
    expect(rows).not.toContain('secret-of-the-second');
    await service.deleteCredential({ upstreamId: 'mine', credentialId: 'default' }, operator);
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_unavailable' });
    await add('second', stubApiKey);
    clock.advance(60_000);
    expect(finishedOf(await call()).usageReported).toBe(true);
    const other = new URL(stub.baseUrl);
    other.port = '9';
    const elsewhere = await service.putUpstream({ upstream: wanted({ baseUrl: other.href }), secret: 'another-secret' }, operator);
    expect(elsewhere.upstream!.credentials.map(({ id }) => id)).toEqual(['default']);
    await expect(add('', 'x')).rejects.toMatchObject({ details: { field: 'credential_id' } });
    await expect(add('third', '')).rejects.toMatchObject({ details: { field: 'secret' } });
    await expect(add('third', 'two words')).rejects.toMatchObject({ details: { field: 'secret' } });
    for (let count = 1; count < 32; count += 1) await add(`n${count}`, `secret-${count}`);
    await expect(add('n32', 'secret')).rejects.toMatchObject({ reason: 'failed_precondition' });
    const atOther = (secret: string) => service.putUpstream({ upstream: wanted({ baseUrl: other.href }), secret }, operator);
    expect((await atOther('replaced')).upstream!.credentials).toHaveLength(32);
    await service.deleteCredential({ upstreamId: 'mine', credentialId: 'default' }, operator);
    await add('n32', 'secret');
    await expect(atOther('one-more')).rejects.toMatchObject({ reason: 'failed_precondition' });
    await expect(service.putCredential({ upstreamId: 'nobody', credentialId: 'x', secret: 'x' }, operator)).rejects.toMatchObject({
      reason: 'not_found',
    });
  });

  it('add a credential only if they have none of its name, when the caller requests that, even if two replicas add one at once', async () => {
    await put();
    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb);
    const add = (to: InferenceService, secret: string, credentialId = 'second') =>
      to.putCredential({ upstreamId: 'mine', credentialId, secret, createOnly: true }, operator);
    const outcomes = await Promise.allSettled([add(service, 'sk-of-the-first'), add(replica.service, 'sk-of-the-other')]);
    const added = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.upstream!.credentials[1]!.lastFour] : []));
    const exists = { reason: 'already_exists', details: { field: 'credential_id', rule: 'credential_exists' } };
    expect(added).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(exists);
    await expect(add(service, 'sk-of-the-third')).rejects.toMatchObject(exists);
    await expect(add(service, 'sk-of-the-third', 'default')).rejects.toMatchObject(exists);
    const { upstreams } = await service.listUpstreams({}, operator);
    const credentials = upstreams.find(({ id }) => id === 'mine')?.credentials.map(({ id, lastFour }) => [id, lastFour]);
    expect(credentials).toEqual([
      ['default', 'cret'],
      ['second', added[0]],
    ]);
    await replica.stop();
    await replicaDb.close();
  });

  it('cannot be moved to another server with the stored secret', async () => {
    await put();
    const other = new URL(stub.baseUrl);
    other.port = '9';
    const move = (secret?: string) =>
      service.putUpstream(
        { upstream: wanted({ baseUrl: other.href }), ...(secret === undefined ? {} : { secret }) } as PutUpstreamRequest,
        operator,
      );
    await expect(move()).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'secret' } });
    expect((await service.listUpstreams({}, operator)).upstreams.find(({ id }) => id === 'mine')).toMatchObject({
      baseUrl: stub.baseUrl,
      secretLastFour: 'cret',
    });
    expect((await move('another-secret')).upstream).toMatchObject({ baseUrl: other.href, secretLastFour: 'cret' });
    expect((await move('')).upstream).toMatchObject({ secretLastFour: '' });
  });

  it('keep their secret out of the database, the log and every response', async () => {
    await put();
    await call();
    const rows = await database.db.knex('upstream').select();
    const everything = JSON.stringify([rows, lines, await service.listUpstreams({}, operator)], (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
    expect(everything).not.toContain(stubApiKey);
    expect(everything).not.toContain(Buffer.from(stubApiKey).toString('base64').slice(0, 20));
  });

  it('whose row was changed outside the service do not get the secret', async () => {
    await put();
    await database.db
      .knex('upstream')
      .where({ id: 'mine' })
      .update({ base_url: stub.baseUrl.replace('/v1', '/stolen') });
    clock.advance(1000);
    await expect(call()).rejects.toMatchObject({ reason: 'model_unavailable' });
    expect(stub.requests).toHaveLength(0);
  });

  it('sealed under another key keep a process from starting, with the fix', async () => {
    await put();
    await expect(start(database.db, {}, fixedSecretKeys(randomBytes(32)))).rejects.toThrow('Restore the file');
  });

  it('keep their secrets when these are sealed with a new key', async () => {
    await put();
    const added = randomBytes(32);
    await (await start(database.db, {}, fixedSecretKeys(added, key))).stop();
    const pruned = await start(database.db, {}, fixedSecretKeys(added));
    expect(finishedOf(await call(pruned.service)).usageReported).toBe(true);
    await pruned.stop();
  });

  it('sealed with a key that a replica does not have yet are used there as soon as it has the key', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
    const path = join(folder, 'secret-key');
    writeSecretKeys(path, [secretKey(key)]);
    const keysOfReplica = new SecretKeyFile(path);
    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb, {}, keysOfReplica);
    const added = randomBytes(32);
    const ahead = await start(database.db, {}, fixedSecretKeys(added, key));
    await ahead.service.putUpstream({ upstream: wanted(), secret: stubApiKey }, operator);
    for (const second of [1, 2]) {
      clock.advance(second * 1000);
      await expect(call(replica.service)).rejects.toMatchObject({ reason: 'model_unavailable' });
    }
    writeSecretKeys(path, [secretKey(added), secretKey(key)]);
    keysOfReplica.reload();
    clock.advance(1000);
    expect(finishedOf(await call(replica.service)).usageReported).toBe(true);
    await Promise.all([ahead.stop(), replica.stop()]);
    await replicaDb.close();
    rmSync(folder, { recursive: true });
  });

  it('whose row was tampered with are not used, and the reason is logged', async () => {
    await put();
    await database.db.knex('upstream').update({ base_url: 'https://elsewhere.example.com' });
    const other = await start(database.db);
    await expect(call(other.service)).rejects.toMatchObject({ reason: 'model_unavailable' });
    expect(lines.some((line) => String(line['msg']).includes('cannot be decrypted'))).toBe(true);
    const moved = wanted({ baseUrl: 'https://elsewhere.example.com/v2' });
    await expect(other.service.putUpstream({ upstream: moved } as PutUpstreamRequest, operator)).rejects.toMatchObject({
      reason: 'failed_precondition',
    });
    await other.stop();
  });

  it('added through one replica serve calls of another at the next call', async () => {
    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb);
    await expect(call(replica.service)).rejects.toMatchObject({ reason: 'model_unavailable' });
    await put();
    clock.advance(100);
    expect(finishedOf(await call(replica.service)).usageReported).toBe(true);
    await replica.stop();
    await replicaDb.close();
  });

  it('changed through one replica are changed on another within a second', async () => {
    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb);
    await put();
    clock.advance(1000);
    expect(finishedOf(await call(replica.service)).usageReported).toBe(true);
    await service.deleteUpstream({ upstreamId: 'mine' }, operator);
    clock.advance(1000);
    await expect(call(replica.service)).rejects.toMatchObject({ reason: 'model_unavailable' });
    await replica.stop();
    await replicaDb.close();
  });

  it.each([
    ['changed', () => put({ wholeAnswers: true })],
    ['removed', () => service.deleteUpstream({ upstreamId: 'mine' }, operator)],
  ])('that are %s still serve the calls that began before', async (_what, change) => {
    await put();
    await put({ id: 'first' });
    stub.script('failing', { fault: { kind: 'status', status: 500, body: {} } });
    const targets = [
      { upstreamId: 'first', upstreamModel: 'failing' },
      { upstreamId: 'mine', upstreamModel: 'text' },
    ];
    const messages = [];
    for await (const message of service.generate(textRequest('Hi', { targets }), operator)) {
      if (message.failedAttempt !== undefined) await change();
      messages.push(message);
    }
    expect(finishedOf(messages).usageReported).toBe(true);
  });

  it('are used from memory while the database is unavailable', async () => {
    await put();
    await database.db.knex.schema.renameTable('upstream', 'elsewhere');
    clock.advance(5000);
    expect(finishedOf(await call()).usageReported).toBe(true);
    expect(await inference.ready()).toMatchObject({ ok: false });
    await database.db.knex.schema.renameTable('elsewhere', 'upstream');
  });

  it('are used from memory while the database does not answer', async () => {
    await put();
    let isSilent = false;
    const { query } = database.db;
    const silent = await start({ ...database.db, query: (sql, bindings) => (isSilent ? new Promise(() => {}) : query(sql, bindings)) });
    isSilent = true;
    clock.advance(1000);
    for (let count = 0; count < 2; count += 1) expect(finishedOf(await call(silent.service)).usageReported).toBe(true);
    await silent.stop();
  });

  it('that two replicas create at once are stored as one', async () => {
    await Promise.all([put(), put(), put()]);
    expect((await service.listUpstreams({}, operator)).upstreams).toHaveLength(2);
  });

  it('are created only if no other has their id, when the caller requests that, even if two replicas create one at once', async () => {
    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb);
    const create = (from: InferenceService, secret: string, id = 'mine') =>
      from.putUpstream({ upstream: wanted({ id }), secret, createOnly: true }, operator);
    const outcomes = await Promise.allSettled([create(service, 'sk-of-the-first'), create(replica.service, 'sk-of-the-other')]);
    const created = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.upstream!.secretLastFour] : []));
    const exists = { reason: 'already_exists', details: { field: 'upstream.id', rule: 'upstream_exists' } };
    expect(created).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(exists);
    await expect(create(service, 'sk-of-the-third')).rejects.toMatchObject(exists);
    await expect(create(service, '', 'sandbox')).rejects.toMatchObject(exists);
    const { upstreams } = await service.listUpstreams({}, operator);
    expect(upstreams.find(({ id }) => id === 'mine')?.secretLastFour).toBe(created[0]);
    await replica.stop();
    await replicaDb.close();
  });

  it('are changed only in the fields of the mask, whatever the other fields of the request', async () => {
    await put({ limits: { callsMax: 3, idleTimeoutMs: 1000 } });
    const change = (changes: Partial<Upstream>, updateMask: string[]) =>
      service.putUpstream({ upstream: wanted(changes), updateMask }, operator);
    await Promise.all([
      change({ enabled: false }, ['enabled']),
      change({ limits: { callsMax: 4 } }, ['limits.calls_max']),
      change({ limits: {}, allowedFields: ['top_k'] }, ['limits.idle_timeout_ms', 'allowed_fields']),
      service.putUpstream({ upstream: wanted(), secret: 'sk-another-0123', updateMask: [] }, operator),
    ]);
    const { upstreams } = await service.listUpstreams({}, operator);
    expect(upstreams.find(({ id }) => id === 'mine')).toMatchObject({
      enabled: false,
      limits: { callsMax: 4, idleTimeoutMs: undefined },
      allowedFields: ['top_k'],
      secretLastFour: '0123',
    });
    await expect(change({}, ['id'])).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'update_mask' } });
    await expect(change({ baseUrl: 'ftp://elsewhere' }, ['base_url'])).rejects.toMatchObject({ reason: 'invalid_request' });
    await expect(change({ id: 'none' }, ['enabled'])).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('never exceed the maximum, even when two operators add the last one at once', async () => {
    await put();
    const row = await database.db.knex('upstream').first();
    const others = Array.from({ length: storedUpstreamsMax - 2 }, (_, index) => ({ ...row, id: `other-${index}` }));
    await database.db.knex.batchInsert('upstream', others, 50);
    const [mine] = await new UpstreamStore(database.db).list();
    let second: Promise<unknown> | undefined;
    await new UpstreamStore(database.db).put(
      'a-first',
      () => mine!,
      async () => {
        second = put({ id: 'second' });
        await Promise.race([second, sleep(300)]);
      },
    );
    await expect(second).rejects.toMatchObject({ reason: 'failed_precondition' });
    // With the sandbox.
    expect((await service.listUpstreams({}, operator)).upstreams).toHaveLength(storedUpstreamsMax + 1);
    // A present one can still be changed.
    await put({ enabled: false });
  });

  it.each<[string, string, (during: () => Promise<void>) => Promise<unknown>]>([
    ['an upstream', '', (during) => new UpstreamStore(database.db).delete('mine', during)],
    [
      'a credential',
      'second',
      (during) => {
        const without = (row?: UpstreamRow) => ({ ...row!, credentials: row!.credentials.filter(({ id }) => id !== 'second') });
        return new UpstreamStore(database.db).put('mine', without, during);
      },
    ],
  ])('take the overrides of %s that is removed with it, also one that is set meanwhile', async (_what, credentialId, remove) => {
    await put();
    await service.putCredential({ upstreamId: 'mine', credentialId: 'second', secret: stubApiKey }, operator);
    const target = { upstreamId: 'mine', upstreamModel: 'text', credentialId, mode: OverrideMode.OVERRIDE_MODE_DRAIN, ejectForMs: 0 };
    let setting: Promise<unknown> | undefined;
    await remove(async () => {
      setting = service.overrideTarget(target, operator);
      await Promise.race([setting, sleep(300)]);
    });
    await expect(setting).rejects.toMatchObject({ reason: 'not_found' });
    expect((await service.listTargetHealth({}, operator)).overrides).toEqual([]);
  });

  it('can come from the configuration, and then cannot be changed', async () => {
    const { openaiApiKey, anthropicApiKey } = inferenceSettings;
    const managed = await start(database.db, {
      // With the line break at the end of a file.
      openaiApiKey: openaiApiKey.parse(`${stubApiKey}\n`),
      openaiBaseUrl: stub.baseUrl,
      anthropicApiKey: anthropicApiKey.parse(`${stubApiKey}\n`),
      anthropicBaseUrl: stub.baseUrl.replace('/v1', ''),
    });
    const { upstreams } = await managed.service.listUpstreams({}, operator);
    expect(upstreams.map(({ id, managed: isManaged, secretLastFour }) => [id, isManaged, secretLastFour])).toEqual([
      ['sandbox', true, ''],
      ['openai', true, 'cret'],
      ['anthropic', true, 'cret'],
    ]);
    expect(upstreams.map(({ managedBy }) => managedBy)).toEqual([undefined, 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY']);
    for (const id of ['openai', 'anthropic']) {
      expect(
        finishedOf(await collect(managed.service, textRequest('Hi', { targets: [{ upstreamId: id, upstreamModel: 'text' }] })))
          .usageReported,
      ).toBe(true);
      await expect(managed.service.putUpstream({ upstream: wanted({ id }), secret: 'x' }, operator)).rejects.toMatchObject({
        reason: 'failed_precondition',
      });
      await expect(managed.service.deleteUpstream({ upstreamId: id }, operator)).rejects.toMatchObject({ reason: 'failed_precondition' });
    }
    expect((await managed.service.testUpstream({ probes: [], upstreamId: 'openai', upstreamModel: 'text' }, operator)).test?.ok).toBe(true);
    expect((await managed.service.listUpstreams({ withTests: true }, operator)).upstreams.map(({ lastTest }) => lastTest?.ok)).toEqual([
      undefined,
      true,
      undefined,
    ]);
    await managed.stop();
  });

  it('are tested, enabled or not, and the result is kept until they are changed or removed', async () => {
    const lastTests = async () =>
      (await service.listUpstreams({ withTests: true }, operator)).upstreams.map(({ lastTest }) => lastTest?.ok);
    await put({ enabled: false });
    expect(await lastTests()).toEqual([undefined, undefined]);
    const { test } = await service.testUpstream({ probes: [], upstreamId: 'mine', upstreamModel: 'text' }, operator);
    expect(test).toMatchObject({ ok: true, startedAtMs: BigInt(clock.nowMs()), failedStep: '', upstreamModel: 'text' });
    const sandbox = await service.testUpstream({ probes: [], upstreamId: 'sandbox', upstreamModel: 'echo' }, operator);
    expect(sandbox.test).toMatchObject({ ok: true, steps: { length: 7 } });

    const replicaDb = openDatabase(database.url);
    const replica = await start(replicaDb);
    expect((await replica.service.listUpstreams({ withTests: true }, operator)).upstreams.map(({ lastTest }) => lastTest)).toEqual([
      sandbox.test,
      test,
    ]);
    await replica.stop();
    await replicaDb.close();
    // The gateway reads the list every second and has no use for them.
    expect((await service.listUpstreams({}, operator)).upstreams.map(({ lastTest }) => lastTest)).toEqual([undefined, undefined]);

    await service.putUpstream({ upstream: wanted() } as PutUpstreamRequest, operator);
    expect(await lastTests()).toEqual([true, true]);
    await put({}, 'another-secret');
    expect(await lastTests()).toEqual([true, undefined]);
    expect((await service.testUpstream({ probes: [], upstreamId: 'mine' }, operator)).test).toMatchObject({
      ok: false,
      failedStep: 'authentication',
    });
    expect(await lastTests()).toEqual([true, false]);
    await put();
    expect((await service.testUpstream({ probes: [], upstreamId: 'mine' }, operator)).test?.ok).toBe(true);
    expect(await lastTests()).toEqual([true, true]);
    const second = { upstreamId: 'mine', credentialId: 'second' };
    await service.putCredential({ ...second, secret: 'sk-of-nobody' }, operator);
    expect(await lastTests()).toEqual([true, undefined]);
    expect((await service.testUpstream({ probes: [], upstreamId: 'mine' }, operator)).test?.ok).toBe(false);
    await service.putCredential({ ...second, secret: stubApiKey }, operator);
    expect(await lastTests()).toEqual([true, undefined]);
    expect((await service.testUpstream({ probes: [], upstreamId: 'mine' }, operator)).test?.ok).toBe(true);
    await service.deleteUpstream({ upstreamId: 'mine' }, operator);
    await put();
    expect(await lastTests()).toEqual([true, undefined]);
    await expect(service.testUpstream({ probes: [], upstreamId: 'nobody' }, operator)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(service.testUpstream({ probes: [], upstreamId: 'mine', upstreamModel: '' }, operator)).rejects.toMatchObject({
      reason: 'invalid_request',
    });
  });

  it('that are changed during a test do not keep its result', async () => {
    await put();
    stub.script('text', { fault: { kind: 'slow-headers', delayMs: 1500 } });
    const testing = service.testUpstream({ probes: [], upstreamId: 'mine', upstreamModel: 'text' }, operator);
    await untilTrue(() => stub.requests.length > 0);
    await put({}, 'another-secret');
    expect((await testing).test?.ok).toBe(true);
    expect((await service.listUpstreams({ withTests: true }, operator)).upstreams.at(-1)?.lastTest).toBeUndefined();
  });

  it('return their list of models, or why there is none', async () => {
    const list = (upstreamId: string, from = service) => from.listUpstreamModels({ upstreamId }, operator);
    await expect(list('sandbox')).rejects.toThrow('has no list of models');
    await put({ enabled: false });
    await expect(list('mine')).rejects.toThrow('The upstream "mine" is disabled');
    await put();
    expect((await list('mine')).models.length).toBeGreaterThan(0);
    await database.db.knex('upstream').update({ base_url: 'https://elsewhere.example.com' });
    const other = await start(database.db);
    await expect(list('mine', other.service)).rejects.toThrow('cannot be decrypted');
    await other.stop();
  });

  it('whose secret cannot be read are not tested', async () => {
    await put();
    await database.db.knex('upstream').update({ base_url: 'https://elsewhere.example.com' });
    const other = await start(database.db);
    await expect(other.service.testUpstream({ probes: [], upstreamId: 'mine' }, operator)).rejects.toMatchObject({
      reason: 'failed_precondition',
    });
    await other.stop();
  });

  it.each<[string, Partial<Upstream>, string | undefined]>([
    ['upstream.id', { id: '' }, undefined],
    ['upstream.id', { id: 'Not OK' }, undefined],
    ['upstream.api_format', { apiFormat: ApiFormat.API_FORMAT_SANDBOX }, undefined],
    ['upstream.api_format', { apiFormat: ApiFormat.API_FORMAT_UNSPECIFIED }, undefined],
    ['upstream.base_url', { baseUrl: '' }, undefined],
    ['upstream.base_url', { allowPrivateNetwork: false }, undefined],
    ['secret', {}, 'with space'],
    ['secret', {}, 'line\nbreak'],
    ['secret', {}, 'x'.repeat(1025)],
  ])('are refused with an invalid %s: %j', async (field, changes, secret) => {
    await expect(put(changes, secret)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });

  it('at a private address are also refused when connecting', async () => {
    await put({ baseUrl: stub.baseUrl.replace('127.0.0.1', 'localhost'), allowPrivateNetwork: false });
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_unavailable' });
    expect(stub.requests).toHaveLength(0);
  });

  it('that do not exist are unavailable, and redirects are not followed', async () => {
    await put({ baseUrl: 'http://127.0.0.1:1/v1' });
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_unavailable' });
    await put();
    stub.script('text', { fault: { kind: 'status', status: 307, body: {}, headers: { location: `${stub.baseUrl}/chat/completions` } } });
    await expect(call()).rejects.toMatchObject({ reason: 'upstream_failed' });
    // The only target is tried twice.
    expect(stub.requests).toHaveLength(2);
  });
});
