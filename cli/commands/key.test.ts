import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { dayMs } from '#kit/clock.js';
import { KeyState } from '#proto/auth/v1/auth.js';
import { Model } from '#proto/catalog/v1/catalog.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { jsonLines, tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('accounts and keys', () => {
  it('are created, and the secret is shown once', async () => {
    const [account] = await tollgateJson(gateway, ['account', 'create', 'Acme Ltd']);
    expect(account).toMatchObject({ name: 'Acme Ltd', state: 'active', created_at: '2027-01-15T08:00:00.000Z' });
    expect([...gateway.state.callers]).toEqual(['operator']);

    const created = await tollgate(gateway, [
      'key',
      'create',
      '--name',
      'laptop',
      '--limit',
      '5',
      '--expires',
      '30d',
      '--models',
      'a,b',
      '--addresses',
      '::1',
    ]);
    expect(created.code).toBe(0);
    expect(created.stdout.match(/the-secret-wxyz/g)).toHaveLength(1);
    expect(created.stdout).toMatch(/cannot be shown again/);
    expect(gateway.state.keys[0]).toMatchObject({
      accountId: account!['id'],
      name: 'laptop',
      lifetimeLimitNanoUsd: 5_000_000_000n,
      expiresAtMs: BigInt(testNowMs + 30 * dayMs),
      models: { allModels: false, modelIds: ['a', 'b'] },
      allowedAddresses: ['::1'],
    });

    const [listed] = await tollgateJson(gateway, ['key', 'list']);
    expect(listed).toMatchObject({
      name: 'laptop',
      last_four: 'wxyz',
      state: 'active',
      limit_usd: '5',
      limit_nano_usd: '5000000000',
      spent_usd: '1.5',
      remaining_usd: '3.5',
      models: ['a', 'b'],
    });
    expect(listed).toMatchObject({ last_used_at: '2027-01-15T07:59:59.000Z', last_used_model: 'sandbox/echo' });
    expect((await tollgate(gateway, ['key', 'list'])).stdout).toMatch(/last used.*\n.*2027-01-15 07:59:59Z/);
    expect(JSON.stringify(listed)).not.toContain('the-secret');
  });

  it('can be changed', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--limit', '5', '--expires', '30d']);
    const { id } = gateway.state.keys[0]!;
    await tollgate(gateway, ['key', 'limit', id, 'none']);
    await tollgate(gateway, ['key', 'expire', id, 'never']);
    await tollgate(gateway, ['key', 'models', id, 'sandbox/echo']);
    await tollgate(gateway, ['key', 'addresses', id, '192.0.2.7, 2001:db8::/32']);
    expect((await tollgate(gateway, ['key', 'show', id])).stdout).toMatch(/allowed addresses +192\.0\.2\.7, 2001:db8::\/32\n/);
    await tollgate(gateway, ['key', 'addresses', id, 'all']);
    await tollgate(gateway, ['key', 'rename', id, 'desktop']);
    await tollgate(gateway, ['key', 'disable', id]);
    expect(gateway.state.keys[0]).toMatchObject({
      name: 'desktop',
      lifetimeLimitNanoUsd: undefined,
      expiresAtMs: undefined,
      models: { allModels: false, modelIds: ['sandbox/echo'] },
      allowedAddresses: [],
      state: KeyState.KEY_STATE_DISABLED,
    });
    gateway.state.keys[0]!.previousSecretsExpireAtMs = BigInt(testNowMs + 1000);
    expect((await tollgate(gateway, ['key', 'show', id])).stdout).toContain('old secret until');
    const revoked = await tollgate(gateway, ['key', 'revoke', id]);
    expect(revoked.stdout).toMatch(/state +revoked/);
    expect(revoked.stdout).not.toContain('old secret until');
    const accountId = gateway.state.accounts[0]!.id;
    expect(await tollgateJson(gateway, ['account', 'suspend', accountId])).toMatchObject([{ state: 'suspended' }]);
    expect(await tollgateJson(gateway, ['account', 'resume', accountId])).toMatchObject([{ state: 'active' }]);
  });

  it('may be limited to models that the catalog does not have, which is pointed out', async () => {
    gateway.state.models.push(Model.fromPartial({ id: 'acme/one', aliases: ['one'] }));
    await tollgate(gateway, ['account', 'create', 'Acme']);
    const created = await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--models', 'acme/one,acme/tow,one', '--json']);
    expect(created.code).toBe(0);
    expect(created.stderr.split('\n')).toEqual([
      "There is no model acme/tow in the catalog yet; 'tollgate model list' shows the ids of all models.",
      'one is an alias of acme/one. Specify acme/one instead: an alias permits no model.',
      '',
    ]);
    const { id } = gateway.state.keys[0]!;
    expect((await tollgate(gateway, ['key', 'models', id, 'acme/tow'])).stderr).toContain('acme/tow');
    expect((await tollgate(gateway, ['key', 'models', id, 'acme/one'])).stderr).toBe('');
    expect((await tollgate(gateway, ['key', 'models', id, 'all'])).stderr).toBe('');
    expect((await tollgate(gateway, ['key', 'rename', id, 'desktop'])).stderr).toBe('');
  });

  it('have rate limits, each of which can be changed alone', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme', '--rpm', '600']);
    const accountId = gateway.state.accounts[0]!.id;
    expect(await tollgateJson(gateway, ['account', 'update', accountId, '--tpm', '10000'])).toMatchObject([
      { rate_limits: { rpm: 600, tpm: 10_000, concurrency: null } },
    ]);
    const { stdout } = await tollgate(gateway, ['account', 'update', accountId, '--model', 'sandbox/echo', '--concurrency', '2']);
    expect(stdout).toMatch(/rate limits +600 rpm, 10000 tpm\nmodel limits +sandbox\/echo: 2 calls at once/);

    await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--rpm', '60', '--concurrency', '5']);
    const { id } = gateway.state.keys[0]!;
    expect((await tollgate(gateway, ['key', 'show', id])).stdout).toMatch(/rate limits +60 rpm, 5 calls at once\n/);
    expect(await tollgateJson(gateway, ['key', 'update', id, '--rpm', 'default', '--tpm', 'none'])).toMatchObject([
      { rate_limits: { rpm: null, tpm: 0, concurrency: 5 } },
    ]);
    expect(await tollgate(gateway, ['key', 'update', id])).toMatchObject({
      stderr: expect.stringContaining('Specify --rpm, --tpm, --concurrency, --budget or --project.'),
    });
    expect((await tollgate(gateway, ['key', 'update', id, '--rpm', '0'])).code).toBe(2);
  });

  it('require --account when there are several accounts', async () => {
    expect(await tollgate(gateway, ['key', 'list'])).toMatchObject({ code: 1, stderr: expect.stringContaining('tollgate account create') });
    await tollgate(gateway, ['account', 'create', 'one']);
    await tollgate(gateway, ['account', 'create', 'two']);
    expect(await tollgate(gateway, ['key', 'list'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--account') });
    expect(await tollgate(gateway, ['key', 'list', '--account', gateway.state.accounts[1]!.id])).toMatchObject({
      code: 0,
      stdout: 'none\n',
    });
  });

  it('are listed page by page, as a table or as JSON lines', async () => {
    for (const name of ['one', 'two', 'three']) await tollgate(gateway, ['account', 'create', name]);
    const first = await tollgate(gateway, ['account', 'list', '--limit', '2', '--json']);
    expect(jsonLines(first.stdout).map((account) => account['name'])).toEqual(['one', 'two']);
    expect(first.stderr).toContain('--page 2');
    expect(await tollgateJson(gateway, ['account', 'list', '--page', '2'])).toMatchObject([
      { name: 'three', keys: 0, balance: { available_usd: '0' } },
    ]);
    const lines = (await tollgate(gateway, ['account', 'list'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/)[1])).toEqual(['name', 'one', 'two', 'three']);
  });

  it('are listed and shown without balances while the ledger is unavailable', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    const { id } = gateway.state.accounts[0]!;
    gateway.state.balancesFault = new AppError('service_unavailable', 'The ledger is unavailable.');
    expect(await tollgateJson(gateway, ['account', 'list'])).toMatchObject([{ name: 'Acme', balance: null }]);
    expect((await tollgate(gateway, ['account', 'list'])).stdout).toMatch(/Acme.* \? +\? +0\n/);
    expect(await tollgateJson(gateway, ['account', 'show', id])).toMatchObject([{ name: 'Acme', balance: null }]);
    expect((await tollgate(gateway, ['account', 'show', id])).stdout).toMatch(/available +\?/);
    gateway.state.balancesFault = new AppError('internal', 'A fault.');
    expect((await tollgate(gateway, ['account', 'list'])).code).toBe(1);
  });

  it('are created and changed without spending and activity while the ledger and metering are unavailable', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    gateway.state.balancesFault = new AppError('service_unavailable', 'The ledger is unavailable.');
    gateway.state.activityFault = new AppError('deadline_exceeded', 'Metering is unavailable.');
    const created = await tollgate(gateway, ['key', 'create', '--name', 'laptop', '--limit', '5']);
    expect(created).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/spent +\?\n[^]*remaining +\?\n[^]*last used +\?\n[^]*the-secret-wxyz/),
    });
    const { id } = gateway.state.keys[0]!;
    const unknown = { spent_usd: null, held_usd: null, remaining_usd: null, last_used_at: null };
    expect(await tollgateJson(gateway, ['key', 'rename', id, 'desktop'])).toMatchObject([{ name: 'desktop', limit_usd: '5', ...unknown }]);
    expect((await tollgate(gateway, ['key', 'list'])).stdout).toMatch(/active +\? +\$5 +\?/);
    expect(await tollgateJson(gateway, ['key', 'revoke', id])).toMatchObject([{ state: 'revoked', ...unknown }]);
  });

  it('show why an account is suspended', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    const { id } = gateway.state.accounts[0]!;
    const { stdout } = await tollgate(gateway, ['account', 'suspend', id, '--reason', 'invoice 7 is unpaid']);
    expect(stdout).toMatch(/because +invoice 7 is unpaid/);
    expect(await tollgateJson(gateway, ['account', 'show', id])).toMatchObject([
      { state: 'suspended', state_reason: 'invoice 7 is unpaid' },
    ]);
    expect(await tollgateJson(gateway, ['account', 'resume', id])).toMatchObject([{ state: 'active', state_reason: null }]);
  });
});
