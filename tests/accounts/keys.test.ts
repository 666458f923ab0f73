// Changes of a key apply to calls. services/auth/rpcs/watch-keys.test.ts tests how soon.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, createKey } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

describe.each(modes)('keys, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode);
  });

  afterAll(() => system?.stop());

  const status = async (secret: string): Promise<number> => {
    const response = await chat(system, secret, { model: 'sandbox/echo', max_tokens: 10 });
    await response.text();
    return response.status;
  };

  /** Waits until calls with the secret get this status, and keep getting it. */
  async function becomes(secret: string, wanted: number): Promise<void> {
    await eventually(async () => ((await status(secret)) === wanted ? true : undefined));
    expect(await status(secret)).toBe(wanted);
  }

  it.each([
    ['revoke', ['revoke'], 401],
    ['disable', ['disable'], 403],
    ['a list of other models', ['models', '%', 'sandbox/story'], 403],
    ['a lower limit', ['limit', '%', '0.000000001'], 402],
  ])('%s', async (_name, args, refused) => {
    const { id, secret } = await createKey(system, 'changing');
    // The key is used once, so that it is in every cache.
    expect(await status(secret)).toBe(200);
    await system.cli('key', ...(args.includes('%') ? args.map((arg) => (arg === '%' ? id : arg)) : [...args, id]));
    await becomes(secret, refused);
  });

  it('suspending the account, and resuming it', async () => {
    const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'suspended');
    await system.cli('balance', 'deposit', '1', '--account', accountId);
    const { secret } = await createKey(system, 'k', '--account', accountId);
    expect(await status(secret)).toBe(200);
    await system.cli('account', 'suspend', accountId);
    await becomes(secret, 403);
    await system.cli('account', 'resume', accountId);
    await becomes(secret, 200);
  });

  it('enabling a disabled key makes it work again', async () => {
    const { id, secret } = await createKey(system, 'paused', '--account', await firstAccountId());
    await system.cli('key', 'disable', id);
    await becomes(secret, 403);
    await system.cli('key', 'enable', id);
    await becomes(secret, 200);
  });

  it('rotating a key: the new secret works immediately, the old one until the end of the overlap', async () => {
    const { id, secret: first } = await createKey(system, 'rotated', '--account', await firstAccountId());
    expect(await status(first)).toBe(200);
    const rotate = (...args: string[]) => system.json<{ secret: string }>('key', 'rotate', id, ...args);
    const { secret: second } = await rotate('--overlap', '1h');
    expect([await status(second), await status(first)]).toEqual([200, 200]);
    const { secret: third } = await rotate('--overlap', '1s');
    await becomes(second, 401);
    const { secret: fourth } = await rotate();
    await becomes(third, 401);
    expect(await status(fourth)).toBe(200);
  });

  it('never shows a secret again, and does not store it in readable form', async () => {
    const { id, secret } = await createKey(system, 'secret', '--account', await firstAccountId());
    expect(await status(secret)).toBe(200);
    expect(await system.cli('key', 'show', id, '--json')).not.toContain(secret.slice(6, -4));
    expect(system.output()).not.toContain(secret.slice(6, -4));
  });

  async function firstAccountId(): Promise<string> {
    const [line] = (await system.cli('account', 'list', '--json')).trim().split('\n');
    return (JSON.parse(line!) as { id: string }).id;
  }
});
