// The response to a caller who cannot afford a call: how much is affordable, whether to retry, and which limit applies.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseUsd } from '#rules/money/money.js';
import { createKey, post, settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Refusal {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly shouldRetry: string | null;
  readonly error: Record<string, string>;
}

const paths = { 'chat-completions': '/v1/chat/completions', messages: '/v1/messages' } as const;

describe.each(modes)('a call that cannot be afforded, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode, { TOLLGATE_STARTING_BALANCE_USD: '0' });
  });

  afterAll(() => system?.stop());

  describe.each(['chat-completions', 'messages'] as const)('in the %s format', (format) => {
    async function customer(balanceUsd: string, ...keyOptions: string[]): Promise<{ accountId: string; secret: string }> {
      const { id: accountId } = await system.json<{ id: string }>('account', 'create', `${format} ${balanceUsd}`);
      if (balanceUsd !== '0') await system.cli('balance', 'deposit', balanceUsd, '--account', accountId);
      return { accountId, secret: (await createKey(system, 'key', '--account', accountId, ...keyOptions)).secret };
    }

    const ask = (secret: string, maxTokens: number, content = 'tokens=5', init: RequestInit = {}): Promise<Response> =>
      post(
        system,
        paths[format],
        secret,
        { model: 'sandbox/story', max_tokens: maxTokens, stream: content.includes('delay'), messages: [{ role: 'user', content }] },
        init,
      );

    async function refusalOf(response: Response): Promise<Refusal> {
      const { headers } = response;
      const { error } = (await response.json()) as { error: Record<string, string> };
      return { status: response.status, retryAfter: headers.get('retry-after'), shouldRetry: headers.get('x-should-retry'), error };
    }

    /** Starts a call that holds what it could cost. Returns a function that ends it. */
    async function inFlight(secret: string, maxTokens: number): Promise<() => void> {
      const disconnect = new AbortController();
      const response = await ask(secret, maxTokens, 'delay=200ms tokens=5000', { signal: disconnect.signal });
      expect(response.status).toBe(200);
      return () => disconnect.abort();
    }

    it('reports exactly how many tokens are affordable, and admits a call with that many', async () => {
      const { accountId, secret } = await customer('0.0002');
      const refused = await refusalOf(await ask(secret, 8000));
      expect(refused).toMatchObject({
        status: 402,
        retryAfter: null,
        shouldRetry: 'false',
        error: { reason: 'balance_empty', available: '0.0002', held: '0' },
      });
      const affordable = Number(refused.error['affordable_output_tokens']);
      expect(refused.error['message']).toContain(`at most ${affordable} output tokens`);
      expect(Number(refused.error['needed'])).toBeGreaterThan(0.0002);
      expect((await ask(secret, affordable + 1)).status).toBe(402);
      const granted = await ask(secret, affordable);
      expect(granted.status).toBe(200);
      expect(granted.headers.get('x-tollgate-output-cap')).toBeNull();
      await granted.text();
      expect((await settled(system, accountId, 1)).rows).toHaveLength(1);
    });

    it('reports that nothing is left, and that a retry does not help', async () => {
      const { secret } = await customer('0');
      expect(await refusalOf(await ask(secret, 10))).toMatchObject({
        status: 402,
        retryAfter: null,
        shouldRetry: 'false',
        error: { reason: 'balance_empty', available: '0', credited: '0', affordable_output_tokens: '0' },
      });
    });

    it('reports that calls in flight hold the funds, and when to retry', async () => {
      const { accountId, secret } = await customer('0.0002');
      const affordable = Number((await refusalOf(await ask(secret, 8000))).error['affordable_output_tokens']);
      const end = await inFlight(secret, affordable - 20);
      const refused = await refusalOf(await ask(secret, 100));
      expect(refused).toMatchObject({ status: 402, retryAfter: '2', shouldRetry: 'true', error: { reason: 'balance_held' } });
      const { held, available } = refused.error;
      expect(Number(held) + Number(available)).toBeCloseTo(0.0002, 9);
      expect(Number(held)).toBeGreaterThan(0.0001);
      end();
      await settled(system, accountId, 1);
      expect((await ask(secret, 100)).status).toBe(200);
    });

    it('reports that the key has reached its limit although the account has funds', async () => {
      const { accountId, secret } = await customer('1', '--limit', '0.0002');
      const refused = await refusalOf(await ask(secret, 8000));
      expect(refused).toMatchObject({
        status: 402,
        retryAfter: null,
        shouldRetry: 'false',
        error: { reason: 'key_limit_reached', limit: '0.0002', spent: '0', available: '0.0002' },
      });
      const affordable = Number(refused.error['affordable_output_tokens']);
      expect((await ask(secret, affordable + 1)).status).toBe(402);
      const end = await inFlight(secret, affordable - 20);
      const held = await refusalOf(await ask(secret, 100));
      expect(held).toMatchObject({
        status: 402,
        retryAfter: '2',
        shouldRetry: 'true',
        error: { reason: 'key_limit_reached', limit: '0.0002' },
      });
      end();
      await settled(system, accountId, 1);
      await eventually(async () => ((await ask(secret, 50)).status === 200 ? true : undefined));
    });
  });

  it('reports in both formats which budget is reached and when it resets, and is admitted again once the budget is raised', async () => {
    const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'budgets');
    await system.cli('balance', 'deposit', '1', '--account', accountId);
    await system.cli('account', 'update', accountId, '--budget', 'lifetime:0.9', '--time-zone', 'Asia/Shanghai');
    const project = (await system.json<{ id: string }>('project', 'create', 'Budgeted', '--account', accountId, '--budget', 'day:0.0002'))
      .id;
    const { secret } = await createKey(system, 'key', '--account', accountId, '--project', project, '--budget', 'month:0.0001:soft');
    for (const path of Object.values(paths)) {
      const body = { model: 'sandbox/story', max_tokens: 8000, messages: [{ role: 'user', content: 'tokens=5' }] };
      const response = await post(system, path, secret, body);
      expect([response.status, response.headers.get('retry-after'), response.headers.get('x-should-retry')]).toEqual([402, null, 'false']);
      const { error } = (await response.json()) as { error: Record<string, string> };
      expect(error).toMatchObject({
        code: 'budget_reached',
        reason: 'budget_reached',
        scope: 'project',
        scope_id: project,
        period: 'day',
        limit: '0.0002',
        spent: '0',
        held: '0',
        available: '0.0002',
        resets_at: expect.stringMatching(/T00:00:00\+08:00$/),
        time_zone: 'Asia/Shanghai',
      });
      expect(Date.parse(error['resets_at']!) - Date.now()).toBeLessThanOrEqual(86_400_000);
      expect(Number(error['affordable_output_tokens'])).toBeGreaterThan(0);
    }
    await system.cli('project', 'update', project, '--budget', 'day:0.5');
    const body = { model: 'sandbox/story', max_tokens: 8000, messages: [{ role: 'user', content: 'tokens=5' }] };
    await eventually(async () => ((await post(system, paths['chat-completions'], secret, body)).status === 200 ? true : undefined));
    const { rows } = await settled(system, accountId, 1);
    const charged = rows.reduce((sum, { charge_nano_usd: charge }) => sum + BigInt(charge), 0n);
    const spent = (await system.json<{ budgets: { spent_usd: string }[] }>('project', 'show', project)).budgets[0]!.spent_usd;
    expect(parseUsd(spent)).toBe(charged);
  });

  it('is admitted with the cap that the balance or the key affords if the caller set none, and reports that cap', async () => {
    const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'no cap');
    await system.cli('balance', 'deposit', '0.0004', '--account', accountId);
    for (const options of [[], ['--limit', '0.0002']]) {
      const { secret } = await createKey(system, 'key', '--account', accountId, ...options);
      const response = await post(system, paths['chat-completions'], secret, {
        model: 'sandbox/story',
        messages: [{ role: 'user', content: 'tokens=9999' }],
      });
      const { usage, choices } = (await response.json()) as { usage: { completion_tokens: number }; choices: { finish_reason: string }[] };
      expect(response.headers.get('x-tollgate-output-cap')).toBe(String(usage.completion_tokens));
      expect(choices[0]!.finish_reason).toBe('length');
      await settled(system, accountId);
      // The cap was exact: one more token would not have been affordable.
      if (options.length === 0) await system.cli('balance', 'deposit', '1', '--account', accountId);
    }
  });
});
