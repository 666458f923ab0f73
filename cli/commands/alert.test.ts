// The alert commands, with a fake gateway.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;
let account: string;

beforeEach(async () => {
  gateway = await startFakeGateway();
  account = String((await tollgateJson(gateway, ['account', 'create', 'Acme']))[0]!['id']);
});

afterEach(() => gateway.stop());

describe('alerts', () => {
  it('are replaced as a whole: addresses that are not named are removed', async () => {
    const set = await tollgate(gateway, ['alert', 'set', '10', '--email', 'a@example.com', 'b@example.com']);
    expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining('a@example.com, b@example.com') });
    expect((await tollgateJson(gateway, ['alert', 'get', '--account', account]))[0]).toMatchObject({
      enabled: true,
      threshold_usd: '10',
      emails: ['a@example.com', 'b@example.com'],
    });
    const off = await tollgate(gateway, ['alert', 'set', '5', '--off']);
    expect(off.code).toBe(0);
    expect((await tollgateJson(gateway, ['alert', 'get']))[0]).toMatchObject({
      enabled: false,
      threshold_usd: '5',
      emails: [],
    });
    expect((await tollgate(gateway, ['alert', 'get'])).stdout).toContain('off');
    expect((await tollgate(gateway, ['alert', 'set', '5'])).stdout).toMatch(
      /mail +no addresses, so only the console and webhooks report it/,
    );
  });

  it('reject amounts that are not a valid threshold', async () => {
    expect(await tollgate(gateway, ['alert', 'set', '0'])).toMatchObject({ code: 2, stderr: expect.stringContaining('above zero') });
    expect(await tollgate(gateway, ['alert', 'set'])).toMatchObject({ code: 2 });
  });

  it('report when mail cannot be sent', async () => {
    await tollgate(gateway, ['alert', 'set', '10', '--email', 'a@example.com']);
    expect((await tollgate(gateway, ['alert', 'get'])).stdout).toContain('no mail server');
  });

  it('are tested, with an exit code that shows whether every delivery succeeded', async () => {
    await tollgate(gateway, ['alert', 'set', '10', '--email', 'a@example.com']);
    expect(await tollgate(gateway, ['alert', 'test'])).toMatchObject({ code: 0, stdout: expect.stringContaining('delivered') });
    gateway.state.alertOutcome = '550 out of order';
    expect(await tollgate(gateway, ['alert', 'test'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('out of order'),
      stderr: expect.stringContaining('1 of 1 deliveries failed'),
    });
    expect((await tollgateJson(gateway, ['alert', 'deliveries'])).map(({ state, outcome }) => [state, outcome])).toEqual([
      ['failed', '550 out of order'],
      ['delivered', '250 taken'],
    ]);
  });
});
