// The OpenAPI document of the console's API: it is public, responses match it, and the check finds responses that do not.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerCheck } from '../support/clients/api-reference.js';
import { chat, createKey, settled } from '../support/clients/calls.js';
import { addMember, addUser, type Browser, password, settingsByDefault, signedIn } from '../support/clients/console.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const messages = [{ role: 'user', content: 'Hello' }];

describe.each(browserModes)('the document of the console’s API, %s', (mode) => {
  let system: System;
  let accountId: string;
  let account: string;
  let secret: string;
  let operator: Browser;

  beforeAll(async () => {
    system = await startSystem(mode);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    await system.cli('balance', 'deposit', '5', '--account', accountId, '--reason', 'for tests');
    ({ secret } = await createKey(system, 'calls', '--account', accountId));
    await addUser(system, 'operator@example.com', password, '--operator');
    operator = await signedIn(system, 'operator@example.com');
  });

  afterAll(() => system?.stop());

  it('is public, and has the address of the API', async () => {
    const address = `${system.baseUrl}/console/openapi.json`;
    const response = await fetch(address);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const { openapi, servers, paths } = (await response.json()) as { openapi: string; servers: { url: string }[]; paths: object };
    expect(openapi).toMatch(/^3\.1/);
    expect(new URL(servers[0]!.url, address).pathname).toBe('/console/api');
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/accounts/{account}/keys', '/operator/health']));
  });

  it('detects an additional or missing field, and an undocumented value, status, type or parameter', async () => {
    const check = await answerCheck(system.baseUrl);
    const balance = await operator.get(`${account}/balance`);
    const answer = (body: unknown, status = 200, type = 'application/json'): Response =>
      new Response(JSON.stringify(body), { status, headers: { 'content-type': type } });
    const held = (response: Response, path = `${account}/balance`): Promise<void> => check('GET', path, response);
    await held(answer(balance));
    const { low: _low, ...less } = balance;
    await expect(held(answer({ ...balance, more: 1 }))).rejects.toThrow('additional properties');
    await expect(held(answer(less))).rejects.toThrow("required property 'low'");
    await expect(held(answer({ ...balance, held_usd: 0 }))).rejects.toThrow('held_usd must be string');
    await expect(held(answer(balance, 201))).rejects.toThrow('is not documented');
    await expect(held(answer(balance, 200, 'text/csv'))).rejects.toThrow('undocumented content type');
    await expect(held(answer(balance), `${account}/balances`)).rejects.toThrow('is not documented');
    await expect(held(answer(balance), `${account}/balance?more=1`)).rejects.toThrow('the parameter more');
    await expect(held(answer({ error: { code: 'not_found' } }, 404))).rejects.toThrow("required property 'message'");
  });

  it('matches the responses about the hold of a call and its settlement', async () => {
    const disconnect = new AbortController();
    const call = await chat(
      system,
      secret,
      { model: 'sandbox/story', stream: true, messages: [{ role: 'user', content: 'delay=100ms tokens=5000' }] },
      { signal: disconnect.signal },
    );
    const requestId = call.headers.get('x-request-id')!;
    const { data: holds } = await operator.get<{ data: { request_id: string }[] }>(`${account}/holds`);
    expect(holds.map(({ request_id }) => request_id)).toEqual([requestId]);
    expect(await operator.get(`${account}/usage/records/${requestId}/hold`)).toMatchObject({ state: 'open' });
    disconnect.abort();
    await settled(system, accountId, 1);
    expect(await operator.get(`${account}/usage/records/${requestId}/hold`)).toMatchObject({ state: 'settled' });
    expect(await operator.get(`${account}/holds`)).toEqual({ data: [], next: null });
  });

  it('matches the responses to calls from the playground, whole and streamed', async () => {
    const { key } = await operator.must<{ key: { id: string } }>('POST', `${account}/keys`, { name: 'Playground' }, 201);
    const path = `${account}/keys/${key.id}/chat/completions`;
    await operator.must('POST', path, { model: 'sandbox/echo', messages }, 200);
    const streamed = await operator.ask('POST', path, { model: 'sandbox/echo', messages, stream: true });
    expect(streamed.headers.get('content-type')).toContain('text/event-stream');
    expect(await streamed.text()).toContain('data: [DONE]');
  });

  it('matches the responses about members, invitations, sessions, settings and lists of drafts', async () => {
    const { invitation } = await operator.must<{ invitation: { id: string } }>(
      'POST',
      `${account}/invitations`,
      { email: 'guest@example.com', role: 'viewer' },
      201,
    );
    expect((await operator.get<{ data: unknown[] }>(`${account}/invitations`)).data).toHaveLength(1);
    await operator.must('DELETE', `${account}/invitations/${invitation.id}`, undefined, 204);
    await addMember(system, accountId, 'member@example.com', 'owner');
    expect((await operator.get<{ data: unknown[] }>(`${account}/members`)).data).not.toHaveLength(0);

    await signedIn(system, 'operator@example.com');
    const { data: sessions } = await operator.get<{ data: { id: string; present: boolean }[] }>('/me/sessions');
    expect(await operator.must('DELETE', `/me/sessions/${sessions.find(({ present }) => !present)!.id}`, undefined, 200)).toEqual({
      ended: 1,
    });
    expect(await operator.get('/settings')).toEqual(settingsByDefault);

    const prices = { input: '1', cache_read: '1', cache_write_5m: '1', cache_write_1h: '1', output: '2' };
    await operator.must('PUT', '/operator/price-drafts/sandbox/echo', { usd_per_million_tokens: prices }, 200);
    expect((await operator.get<{ data: unknown[] }>('/operator/price-drafts')).data).toHaveLength(1);
    expect(
      (await operator.get<{ data: { draft: unknown }[] }>('/operator/models')).data.filter(({ draft }) => draft !== null),
    ).toHaveLength(1);
  });
});
