import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Upstream } from '#proto/inference/v1/inference.js';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('upstreams', () => {
  it('take the secret of an upstream from standard input, the environment or a prompt, never from an argument', async () => {
    const add = ['upstream', 'add', 'acme', '--format', 'chat-completions', '--base-url', 'https://api.example/v1'];
    expect((await tollgate(gateway, [...add, '--secret-stdin'], { stdin: 'from-stdin\n' })).code).toBe(0);
    expect(gateway.state.secrets.get('acme')).toBe('from-stdin');
    expect(await tollgate(gateway, [...add, '--secret-stdin'], { stdin: 'x' })).toMatchObject({ code: 1, stderr: expect.stringContaining('already') });
    await tollgate(gateway, [...add, '--replace', '--secret-env', 'ACME'], { env: { ...gateway.env, ACME: 'from-env' } });
    expect(gateway.state.secrets.get('acme')).toBe('from-env');
    const typed = await tollgate(gateway, [...add, '--replace'], { typed: 'from-typing' });
    expect(gateway.state.secrets.get('acme')).toBe('from-typing');
    expect(typed.stdout + typed.stderr).not.toContain('from-typing');
    expect(await tollgate(gateway, [...add, '--replace'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--secret-stdin') });
    await tollgate(gateway, ['upstream', 'disable', 'acme']);
    expect(gateway.state.upstreams[0]).toMatchObject({ enabled: false, baseUrl: 'https://api.example/v1' });
    expect(gateway.state.secrets.get('acme')).toBe('from-typing');
  });

  it('are not switched where configuration rules', async () => {
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'sandbox', managed: true, enabled: true }));
    expect(await tollgate(gateway, ['upstream', 'disable', 'sandbox'])).toMatchObject({ code: 1, stderr: expect.stringContaining('set by configuration') });
    expect(gateway.state.upstreams[0]?.enabled).toBe(true);
  });
});
