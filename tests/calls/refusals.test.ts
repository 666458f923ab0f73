// Refused calls: each can be found by its request id, with its reason and figures, and all are counted, even in a flood.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chat, createKey, get, post, usageRows } from '../support/clients/calls.js';
import { addMember, signedIn } from '../support/clients/console.js';
import { beginPost } from '../support/clients/slow-body.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Refusal {
  readonly object: string;
  readonly request_id: string;
  readonly reason: string;
  readonly message: string | null;
  readonly figures: Readonly<Record<string, string>>;
  readonly [name: string]: unknown;
}

interface Total {
  readonly name: string;
  readonly then_name: string | null;
  readonly calls: number;
}

const bodyBytesMax = 100_000;
const callsPerAccountMax = 3;
const messages = [{ role: 'user', content: 'A secret prompt' }];

describe.each(modes)('a refused call, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode, {
      TOLLGATE_STARTING_BALANCE_USD: '0',
      TOLLGATE_GATEWAY_BODY_BYTES_MAX: String(bodyBytesMax),
      TOLLGATE_GATEWAY_CALLS_PER_ACCOUNT_MAX: String(callsPerAccountMax),
    });
  });

  afterAll(() => system?.stop());

  async function account(balanceUsd = '1'): Promise<string> {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Acme');
    if (balanceUsd !== '0') await system.cli('balance', 'deposit', balanceUsd, '--account', id);
    return id;
  }
  const keyOf = (accountId: string, ...options: string[]) => createKey(system, 'key', '--account', accountId, ...options);

  async function requestIdOf(response: Response, status: number): Promise<string> {
    const text = await response.text();
    expect({ status: response.status, text }).toMatchObject({ status });
    return response.headers.get('x-request-id')!;
  }

  /** Returns the refusal once it is known, read with a key that may be another one of the account. */
  const refusalOf = (requestId: string, secret: string): Promise<Refusal> =>
    eventually(async () => {
      const response = await get(system, `/v1/usage/${requestId}`, secret);
      return response.status === 200 ? ((await response.json()) as Refusal) : undefined;
    });

  async function totals(...options: string[]): Promise<Total[]> {
    const text = (await system.cli('refusals', 'totals', '--json', ...options)).trim();
    return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Total);
  }
  const countOf = async (...options: string[]): Promise<number> => (await totals(...options)).reduce((sum, { calls }) => sum + calls, 0);

  it('is one whose key is revoked while its body is sent', async () => {
    const accountId = await account();
    const [key, reader] = [await keyOf(accountId), await keyOf(accountId)];
    const send = await beginPost(`${system.baseUrl}/v1/chat/completions`, { authorization: `Bearer ${key.secret}` });
    await system.cli('key', 'revoke', key.id);
    await eventually(async () => ((await chat(system, key.secret)).status === 401 ? true : undefined));
    await sleep(1500);
    const requestId = await requestIdOf(await send({ model: 'sandbox/echo', messages }), 401);
    expect(await refusalOf(requestId, reader.secret)).toMatchObject({ reason: 'key_revoked', key_id: key.id });
  });

  it('is found by its request id, with its reason and its figures, whatever the reason', async () => {
    const accountId = await account('0.0002');
    const [reader, limited, narrow, revoked, disabled, elsewhere] = [
      await keyOf(accountId),
      await keyOf(accountId, '--limit', '0.000001'),
      await keyOf(accountId, '--models', 'sandbox/echo'),
      await keyOf(accountId),
      await keyOf(accountId),
      await keyOf(accountId, '--addresses', '198.51.100.0/24'),
    ];
    await system.cli('key', 'revoke', revoked.id);
    await system.cli('key', 'disable', disabled.id);
    const story = { model: 'sandbox/story', max_tokens: 8000, messages };
    const kinds: { ask: () => Promise<Response>; status: number; refusal: object }[] = [
      {
        ask: () => post(system, '/v1/messages', reader.secret, story, { headers: { 'x-request-id': 'my-own-id' } }),
        status: 402,
        refusal: {
          reason: 'balance_empty',
          endpoint: 'messages',
          key_id: reader.id,
          model: 'sandbox/story',
          figures: { needed: expect.stringMatching(/^0\.\d+$/), available: '0.0002' },
          message: expect.stringContaining('balance'),
          client_request_id: 'my-own-id',
        },
      },
      {
        ask: () => chat(system, limited.secret, { max_tokens: 100 }),
        status: 402,
        refusal: { reason: 'key_limit_reached', key_id: limited.id, figures: { limit: '0.000001', spent: '0' } },
      },
      { ask: () => chat(system, narrow.secret, story), status: 403, refusal: { reason: 'model_not_permitted', param: 'model' } },
      {
        ask: () => chat(system, reader.secret, { model: 'acme/unknown' }),
        status: 404,
        refusal: { reason: 'model_unknown', model: null, requested_model: 'acme/unknown', endpoint: 'chat-completions' },
      },
      {
        ask: () => post(system, '/v1/messages/count_tokens', reader.secret, { model: 'acme/unknown', messages }),
        status: 404,
        refusal: { reason: 'model_unknown', endpoint: 'count-tokens' },
      },
      {
        ask: () => chat(system, reader.secret, { max_tokens: 'many' }),
        status: 400,
        refusal: { reason: 'invalid_request', param: 'max_tokens', model: 'sandbox/echo', message: expect.stringContaining('max_tokens') },
      },
      {
        ask: () => post(system, '/v1/chat/completions', reader.secret, '{"messages": "A secret prompt" oops'),
        status: 400,
        refusal: { reason: 'invalid_request', message: null, model: null, requested_model: null },
      },
      {
        ask: () => chat(system, reader.secret, { messages: [{ role: 'user', content: 'x'.repeat(bodyBytesMax) }] }),
        status: 413,
        refusal: { reason: 'body_too_large', figures: { limit_bytes: String(bodyBytesMax) } },
      },
      { ask: () => chat(system, revoked.secret), status: 401, refusal: { reason: 'key_revoked', key_id: revoked.id, model: null } },
      { ask: () => chat(system, disabled.secret), status: 403, refusal: { reason: 'key_disabled', key_id: disabled.id } },
      {
        ask: () => chat(system, elsewhere.secret),
        status: 403,
        refusal: {
          reason: 'address_not_permitted',
          key_id: elsewhere.id,
          message: expect.stringContaining('127.0.0.1'),
          figures: { address: expect.stringContaining('127.0.0.1') },
        },
      },
    ];
    const ids: string[] = [];
    for (const { ask, status } of kinds) ids.push(await requestIdOf(await ask(), status));
    for (const [index, { status, refusal }] of kinds.entries()) {
      const requestId = ids[index]!;
      const found = await refusalOf(requestId, reader.secret);
      expect(found).toMatchObject({ object: 'refusal', request_id: requestId, account_id: accountId, status, charge_usd: '0', ...refusal });
      expect(JSON.stringify(found)).not.toContain('secret prompt');
    }
    // It has no usage record, and is not visible to other accounts.
    expect(await usageRows(system, '--account', accountId)).toEqual([]);
    const stranger = await keyOf(await account());
    expect((await get(system, `/v1/usage/${ids[0]}`, stranger.secret)).status).toBe(404);
    const listed = (await system.cli('refusals', 'list', '--account', accountId, '--json')).trim().split('\n');
    expect(listed.map((line) => (JSON.parse(line) as Refusal).request_id).toSorted()).toEqual(ids.toSorted());
    expect(await totals('--account', accountId, '--by', 'reason')).toEqual([
      ...['invalid_request', 'model_unknown'].map((name) => ({ name, then_name: null, calls: 2 })),
      ...[
        'address_not_permitted',
        'balance_empty',
        'body_too_large',
        'key_disabled',
        'key_limit_reached',
        'key_revoked',
        'model_not_permitted',
      ].map((name) => ({
        name,
        then_name: null,
        calls: 1,
      })),
    ]);
  });

  it('because of a rate limit, too many concurrent calls or a repeated idempotency key can be found as well, while other calls are recorded', async () => {
    const accountId = await account();
    const { secret } = await keyOf(accountId);
    const { secret: limited } = await keyOf(accountId, '--rpm', '1');
    expect((await chat(system, limited, { max_tokens: 5 })).status).toBe(200);
    const rateLimited = await requestIdOf(await chat(system, limited, { max_tokens: 5 }), 429);
    const disconnect = new AbortController();
    const slow = (init: RequestInit = {}) =>
      chat(
        system,
        secret,
        { model: 'sandbox/story', stream: true, max_tokens: 500, messages: [{ role: 'user', content: 'delay=200ms tokens=40' }] },
        { signal: disconnect.signal, ...init },
      );
    const headers = { 'idempotency-key': 'once' };
    const responses = [await slow({ headers }), await slow()];
    const repeated = await requestIdOf(await slow({ headers }), 409);
    responses.push(await slow());
    const tooMany = await requestIdOf(await slow(), 503);
    disconnect.abort();
    expect(await refusalOf(repeated, secret)).toMatchObject({ reason: 'idempotency_in_progress', model: 'sandbox/story' });
    expect(await refusalOf(tooMany, secret)).toMatchObject({ reason: 'overloaded', requested_model: null, retry_after_ms: 1000 });
    expect(await refusalOf(rateLimited, secret)).toMatchObject({
      reason: 'rate_limited',
      model: 'sandbox/echo',
      figures: { scope: 'key', max: '1', used: '1' },
      retry_after_ms: expect.any(Number),
    });
    const admitted = responses.map((response) => response.headers.get('x-request-id')!);
    for (const requestId of admitted) {
      expect(await refusalOf(requestId, secret)).toMatchObject({ object: 'usage_record' });
    }
    expect(await countOf('--account', accountId)).toBe(3);
  });

  it('is listed and counted in the console’s API for members of the account', async () => {
    const accountId = await account('0');
    const { id: keyId, secret } = await keyOf(accountId);
    const empty = await requestIdOf(await chat(system, secret), 402);
    await requestIdOf(await chat(system, secret, { model: 'acme/unknown' }), 404);
    await refusalOf(empty, secret);
    const email = `${mode}@example.com`;
    await addMember(system, accountId, email, 'owner');
    const browser = await signedIn(system, email);
    const path = `/accounts/${accountId}`;
    await eventually(async () => {
      const { data } = await browser.get<{ data: object[] }>(`${path}/refusals`);
      return data.length === 2 ? true : undefined;
    });
    expect(await browser.get(`${path}/refusals?reason=balance_empty&key=${keyId}`)).toMatchObject({
      data: [{ request_id: empty, reason: 'balance_empty', rule: 'balance_needed', figures: { available: '0' } }],
      next: null,
    });
    expect(await browser.get(`${path}/refusals?request_id=${empty}`)).toMatchObject({ data: [{ request_id: empty }] });
    expect(await browser.get(`${path}/refusals?request_id=${empty}&reason=overloaded`)).toEqual({ data: [], next: null });
    expect(await browser.get(`${path}/refusal-totals?group_by=model&then_by=reason`)).toEqual({
      data: [
        { name: null, then_name: 'model_unknown', calls: 1 },
        { name: 'sandbox/echo', then_name: 'balance_empty', calls: 1 },
      ],
    });
    expect((await browser.ask('GET', `${path}/refusals?reason=poverty`)).status).toBe(400);
    expect((await browser.ask('GET', `/accounts/${await account('0')}/refusals`)).status).toBe(404);
  });

  it('in a flood is counted exactly, a few are stored as examples, and other calls are served', async () => {
    const floods = Number(process.env['TOLLGATE_TEST_FLOOD'] ?? 2000);
    const [flooding, served] = [await keyOf(await account('0')), await keyOf(await account())];
    let left = floods;
    const refused: Record<string, number> = {};
    let isFlooding = true;
    const flood = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const { error } = (await (await chat(system, flooding.secret)).json()) as { error: { reason: string } };
        refused[error.reason] = (refused[error.reason] ?? 0) + 1;
      }
    };
    const others = (async () => {
      const statuses = new Set<number>();
      for (let calls = 0; isFlooding || calls < 10; calls += 1) {
        const response = await chat(system, served.secret, { max_tokens: 5 });
        await response.arrayBuffer();
        statuses.add(response.status);
        await sleep(20);
      }
      return [...statuses];
    })();
    await Promise.all(Array.from({ length: 24 }, flood));
    isFlooding = false;
    expect(await others).toEqual([200]);
    await eventually(async () => ((await countOf('--key', flooding.id)) >= floods ? true : undefined));
    const counted = await totals('--key', flooding.id, '--by', 'reason');
    // Calls beyond the limit of an account's concurrent calls are refused before their balance is checked.
    expect(Object.fromEntries(counted.map(({ name, calls }) => [name, calls]))).toEqual(refused);
    expect(Object.keys(refused).filter((reason) => reason !== 'overloaded')).toEqual(['balance_empty']);
    expect(await countOf('--key', served.id)).toBe(0);
    const examples = (await system.cli('refusals', 'list', '--all', '--key', flooding.id, '--json')).trim().split('\n');
    expect(examples.length).toBeGreaterThanOrEqual(200);
    // A flood of some minutes that crosses from one quarter of an hour to the next.
    expect(examples.length).toBeLessThan(1000);
  }, 240_000);

  it('is sent to metering before a stop, and survives the restart', async () => {
    const accountId = await account('0');
    const { secret, id } = await keyOf(accountId);
    const last = await requestIdOf(await chat(system, secret), 402);
    await system.end();
    await system.start();
    expect(await refusalOf(last, secret)).toMatchObject({ reason: 'balance_empty' });
    expect(await countOf('--key', id)).toBe(1);
  }, 120_000);
});
