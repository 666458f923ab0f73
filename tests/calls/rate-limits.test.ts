// Rate limits of keys, accounts and models within accounts: refused before any money is held, changed everywhere within a second.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, createKey, post, settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

describe.each(modes)('rate limits, %s', (mode) => {
  let system: System;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem(mode, { TOLLGATE_GATEWAY_ACCOUNT_MODEL_CONCURRENCY: '3' });
    ({ id: accountId } = JSON.parse((await system.cli('account', 'list', '--json')).trim()) as { id: string });
  });

  afterAll(() => system?.stop());

  const slow = { messages: [{ role: 'user', content: 'delay=400ms tokens=2' }] };

  async function refusal(answer: Response): Promise<Record<string, unknown>> {
    expect(answer.status).toBe(429);
    return ((await answer.json()) as { error: Record<string, unknown> }).error;
  }

  it('refuse a request beyond the limit with the errors and headers of each format, and hold and charge nothing for it', async () => {
    const { secret } = await createKey(system, 'three', '--rpm', '3');
    for (const left of [2, 1]) {
      const answer = await chat(system, secret);
      await answer.text();
      expect([answer.status, answer.headers.get('x-ratelimit-limit-requests')]).toEqual([200, '3']);
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe(String(left));
      expect(answer.headers.get('x-ratelimit-reset-requests')).toMatch(/^(\d+s|1m[01]s)$/);
      expect(answer.headers.has('x-ratelimit-limit-tokens')).toBe(false);
    }
    const streamed = await chat(system, secret, { stream: true });
    await streamed.text();
    expect([streamed.status, streamed.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '0']);

    const { balance: before } = await settled(system, accountId, 3);
    const refused = await chat(system, secret);
    expect(await refusal(refused)).toMatchObject({
      type: 'requests',
      code: 'rate_limit_exceeded',
      reason: 'rate_limited',
      scope: 'key',
      limit: 'requests_per_minute',
      max: '3',
      used: '3',
    });
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);

    const body = { model: 'sandbox/echo', max_tokens: 9, messages: slow.messages };
    const inMessages = await post(system, '/v1/messages', secret, body);
    expect(await refusal(inMessages)).toMatchObject({ type: 'rate_limit_error', reason: 'rate_limited' });
    expect(inMessages.headers.get('anthropic-ratelimit-requests-limit')).toBe('3');
    expect(inMessages.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
    expect(Date.parse(inMessages.headers.get('anthropic-ratelimit-requests-reset')!)).toBeGreaterThan(Date.now());
    expect((await settled(system, accountId, 3)).balance).toEqual(before);
  });

  it('count the actual usage of a call once it has ended', async () => {
    const { secret } = await createKey(system, 'tokens', '--tpm', '2000');
    const prompt = (chars: number) => ({ messages: [{ role: 'user', content: `tokens=1 ${'x'.repeat(chars)}` }] });
    const large = await chat(system, secret, prompt(4000));
    await large.text();
    // The estimate was above 1,000; the sandbox counts the tokens of the repeated letter, which are fewer.
    expect(large.status).toBe(200);
    const next = await chat(system, secret, prompt(4));
    await next.text();
    expect(next.headers.get('x-ratelimit-limit-tokens')).toBe('2000');
    expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(1000);
    const never = await chat(system, secret, prompt(40_000));
    expect(await refusal(never)).toMatchObject({ limit: 'tokens_per_minute', max: '2000' });
    expect([never.headers.get('retry-after'), never.headers.get('x-should-retry')]).toEqual([null, 'false']);
  });

  it('count the calls in flight of a key, also those whose client disconnects', async () => {
    const { id, secret } = await createKey(system, 'one', '--concurrency', '1');
    const disconnect = new AbortController();
    // Longer than the second call takes on a busy machine. It is in flight once its response has begun.
    const long = { model: 'sandbox/story', stream: true, messages: [{ role: 'user', content: 'delay=1000ms tokens=60' }] };
    expect((await chat(system, secret, long, { signal: disconnect.signal })).status).toBe(200);
    const answer = await chat(system, secret, { messages: [{ role: 'user', content: 'tokens=1' }] });
    expect(await refusal(answer)).toMatchObject({ scope: 'key', limit: 'concurrent_calls', max: '1', used: '1' });
    expect(answer.headers.get('retry-after')).toBe('1');
    disconnect.abort();
    await eventually(async () => ((await chat(system, secret)).status === 200 ? true : undefined));
    await system.cli('key', 'update', id, '--concurrency', 'none');
    await eventually(async () => {
      const statuses = await Promise.all([1, 2].map(async () => (await chat(system, secret, slow)).status));
      return statuses.every((status) => status === 200) ? true : undefined;
    });
  });

  it('can be set for all keys of an account, apply within a second, and can have defaults for each model', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'limited', '--rpm', '100');
    await system.cli('balance', 'deposit', '5', '--account', id);
    const keys = await Promise.all(['a', 'b'].map((name) => createKey(system, name, '--account', id)));
    for (const { secret } of keys) expect((await chat(system, secret)).headers.get('x-ratelimit-limit-requests')).toBe('100');

    await system.cli('account', 'update', id, '--rpm', '3');
    const changedAtMs = Date.now();
    await eventually(async () => {
      const answer = await chat(system, keys[0]!.secret);
      return answer.status === 429 ? true : undefined;
    });
    // Later than a second on a busy machine, but much sooner than the five minutes after which the gateway would notice it without a push.
    expect(Date.now() - changedAtMs).toBeLessThan(10_000);
    expect(await refusal(await chat(system, keys[1]!.secret))).toMatchObject({ scope: 'account', max: '3' });

    await system.cli('account', 'update', id, '--rpm', 'none');
    await system.cli('account', 'update', id, '--model', 'sandbox/echo', '--rpm', '1');
    const ofModel = await eventually(async () => {
      const answer = await chat(system, keys[0]!.secret);
      return answer.status === 429 ? refusal(answer) : undefined;
    });
    expect(ofModel).toMatchObject({ scope: 'account_model', limit: 'requests_per_minute', max: '1' });

    const { secret } = await createKey(system, 'of the first account', '--account', accountId);
    // Long enough that none ends before the last one has arrived.
    const together = { model: 'sandbox/story', messages: [{ role: 'user', content: 'delay=1000ms tokens=3' }] };
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await chat(system, secret, together)).status));
    expect(statuses.toSorted()).toEqual([200, 200, 200, 429, 429]);
  });
});
