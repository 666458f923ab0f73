// The console's API: users sign in, create keys, and read usage and money that equal those of the public API and the ledger.
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopes } from '../../proto/rules/access/scopes.js';
import { chat, createKey, post, settled } from '../support/clients/calls.js';
import { beginPost } from '../support/clients/slow-body.js';
import { cleanEnv, eventually, root } from '../support/systems/process.js';
import { addMember, addUser, Browser, password, settingsByDefault, signedIn } from '../support/clients/console.js';
import { suspendLedger } from '../support/systems/ledger-unavailable.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface KeyView {
  id: string;
  state: string;
  last_four: string;
  limit_usd: string | null;
  spent_usd: string;
  models: string[] | null;
  last_used_at: string | null;
}

describe.each(modes)('the console’s API, %s', (mode) => {
  let system: System;
  let accountId: string;
  let account: string;
  let owner: Browser;

  beforeAll(async () => {
    system = await startSystem(mode, { TOLLGATE_METERING_PROMPT_LOG_SWEEP_INTERVAL: '200ms' });
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    await system.cli('balance', 'deposit', '5', '--account', accountId, '--reason', 'invoice 7');
    for (const [name, role] of [
      ['owner', 'owner'],
      ['admin', 'admin'],
      ['developer', 'developer'],
      ['billing', 'billing'],
      ['viewer', 'viewer'],
    ]) {
      await addMember(system, accountId, `${name}@example.com`, role!, '--name', name!);
    }
    owner = await browserOf('owner');
  });

  afterAll(() => system?.stop());

  const browserOf = (name: string): Promise<Browser> => signedIn(system, `${name}@example.com`);

  /** Returns a client with a key but without the cookie and headers of a browser. */
  const programOf = (secret: string): Browser => new Browser(system, { authorization: `Bearer ${secret}`, 'x-tollgate-console': '' });

  it('signs users in and out, with a cookie that no script and no other site can use', async () => {
    const browser = new Browser(system);
    expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    expect(await browser.refusal('POST', '/session', { email: 'viewer@example.com', password: 'something else' })).toEqual([
      401,
      'sign_in_refused',
    ]);
    const response = await browser.ask('POST', '/session', { email: 'viewer@example.com', password });
    const [cookie] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^tollgate_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=lax; httponly$/i);
    // A session that is used lasts for a month, and only the server knows that it is used.
    expect(Date.parse(/expires=([^;]+)/.exec(cookie!)![1]!)).toBeGreaterThan(Date.now() + 30 * 86_400_000);
    expect(await browser.get('/me')).toMatchObject({
      user: { email: 'viewer@example.com' },
      accounts: [{ id: accountId, name: 'Acme', role: 'viewer', permissions: ['look', 'see projects'] }],
    });
    await browser.must('DELETE', '/session', undefined, 204);
    expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    // A request of the ended session may be answered after the browser has received the cookie of a new one, which has the same name.
    const late = await browser.ask('GET', '/me', undefined, { cookie: cookie!.split(';')[0]! });
    expect([late.status, late.headers.getSetCookie()]).toEqual([401, []]);
  });

  it('rejects changes from other sites', async () => {
    const browser = await browserOf('owner');
    for (const headers of [{ 'x-tollgate-console': '' }, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<
      string,
      string
    >[]) {
      const response = await browser.ask('POST', `${account}/keys`, { name: 'stolen' }, headers);
      expect(response.status).toBe(403);
    }
    expect((await browser.ask('POST', `${account}/keys`, { name: 'own' }, { origin: system.baseUrl })).status).toBe(201);
  });

  it('refuses requests whose body ends after their user has left the account', async () => {
    await addMember(system, accountId, 'leaver@example.com', 'developer');
    const leaver = new Browser(system);
    const signIn = await leaver.ask('POST', '/session', { email: 'leaver@example.com', password });
    const { user } = await leaver.get<{ user: { id: string } }>('/me');
    const { key } = await owner.must<{ key: KeyView & { id: string } }>('POST', `${account}/keys`, { name: 'shared' }, 201);
    const headers = { cookie: signIn.headers.getSetCookie()[0]!.split(';')[0]!, 'x-tollgate-console': '1' };
    const begin = (path: string) => beginPost(`${system.baseUrl}/console/api${account}/keys${path}`, headers);
    const [create, call] = [await begin(''), await begin(`/${key.id}/chat/completions`)];
    // The call's user and key are read before its body.
    await pause(1500);
    await owner.must('DELETE', `${account}/members/${user.id}`, undefined, 204);
    expect((await create({ name: 'late' })).status).toBe(404);
    expect((await call({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hi' }] })).status).toBe(404);
  });

  it('creates one key per Idempotency-Key, and rejects a second key with the same one', async () => {
    const make = (key: string) => owner.ask('POST', `${account}/keys`, { name: 'repeated' }, { 'idempotency-key': key });
    const [one, again, other] = [await make('a'.repeat(128)), await make('a'.repeat(128)), await make(`${'a'.repeat(127)}b`)];
    const made = await Promise.all(
      [one, again, other].map((response) => response.json() as Promise<{ key: KeyView; secret: string | null }>),
    );
    const ids = made.map(({ key }) => key.id);
    expect(made.map(({ secret }) => typeof secret)).toEqual(['string', 'object', 'string']);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect((await make('a'.repeat(129))).status).toBe(400);
    for (const id of [ids[0], ids[2]]) await owner.must('POST', `${account}/keys/${id}/revoke`, undefined, 200);
  });

  it.each(['GET', 'POST'])('has no page and no operation at an unknown path: %s', async (method) => {
    expect(await owner.refusal(method, `${account}/nothing`)).toEqual([404, 'not_found']);
  });

  it('rejects unknown fields, which would otherwise have no effect', async () => {
    const { key } = await owner.must<{ key: KeyView }>('POST', `${account}/keys`, { name: 'misspelt' }, 201);
    const response = await owner.ask('POST', `${account}/keys/${key.id}/rotate`, { overlap: 3600 });
    expect([response.status, ((await response.json()) as { error: { field: string } }).error.field]).toEqual([400, 'overlap']);
    await owner.must('POST', `${account}/keys/${key.id}/revoke`, undefined, 200);
  });

  it('creates a key that works immediately, shows the same spend as the public API and the ledger, rotates it and revokes it', async () => {
    const { key, secret } = await owner.must<{ key: KeyView; secret: string }>(
      'POST',
      `${account}/keys`,
      { name: 'server', limit_usd: '0.5', models: ['sandbox/echo'] },
      201,
    );
    expect(key).toMatchObject({ state: 'active', limit_usd: '0.5', spent_usd: '0', models: ['sandbox/echo'], last_four: secret.slice(-4) });
    const call = await chat(system, secret);
    expect(call.status).toBe(200);
    await call.text();
    const requestId = call.headers.get('x-request-id')!;
    const charge = call.headers.get('x-tollgate-charge-usd')!;
    await settled(system, accountId);

    const { data: records } = await owner.get<{
      data: { request_id: string; started_at: string; charge_usd: string; line_items: { amount_usd: string }[] }[];
    }>(`${account}/usage/records?key=${key.id}`);
    expect(records).toMatchObject([{ request_id: requestId, charge_usd: charge }]);
    expect(await owner.get(`${account}/usage/records/${requestId}`)).toEqual({
      ...records[0],
      attempts: [expect.objectContaining({ number: 1, outcome: 'answered' })],
      prompt_log: null,
    });
    expect(await owner.get(`${account}/usage/totals?key=${key.id}`)).toMatchObject({
      data: [{ calls: 1, errors: 0, quarantined: 0, mean_duration_ms: expect.any(Number), charge_usd: charge }],
    });
    expect(key.last_used_at).toBeNull();
    const used = {
      spent_usd: charge,
      last_used_model: 'sandbox/echo',
      last_used_request_id: requestId,
      last_used_at: records[0]!.started_at,
    };
    expect(await owner.get<KeyView>(`${account}/keys/${key.id}`)).toMatchObject(used);
    const { data: listed } = await owner.get<{ data: KeyView[] }>(`${account}/keys`);
    expect(listed.find(({ id }) => id === key.id)).toMatchObject(used);
    expect(await system.json('key', 'show', key.id)).toMatchObject({ ...used, state: 'active' });
    const { data: entries } = await owner.get<{
      data: { kind: string; amount_usd: string; request_id: string | null; balance_after_usd: string }[];
    }>(`${account}/entries`);
    expect(entries.find(({ request_id }) => request_id === requestId)).toMatchObject({ kind: 'charge', amount_usd: charge });
    const balance = await owner.get<{ settled_usd: string; available_usd: string; held_usd: string }>(`${account}/balance`);
    expect(entries[0]!.balance_after_usd).toBe(balance.settled_usd);
    const { available_usd } = await system.json<{ available_usd: string }>('balance', 'show', '--account', accountId);
    expect(balance.available_usd).toBe(available_usd);

    const rotated = await owner.must<{ secret: string; key: KeyView }>(
      'POST',
      `${account}/keys/${key.id}/rotate`,
      { overlap_seconds: 3600 },
      200,
    );
    expect(rotated.key.state).toBe('rotating');
    const statuses = await Promise.all([secret, rotated.secret].map(async (each) => (await chat(system, each)).status));
    expect(statuses).toEqual([200, 200]);
    expect(await owner.must<KeyView>('POST', `${account}/keys/${key.id}/revoke`, {}, 200)).toMatchObject({ state: 'revoked' });
    await expect(owner.must('PATCH', `${account}/keys/${key.id}`, { name: 'again' }, 200)).rejects.toThrow('409');
  });

  it('stores prompts and answers, encrypted, if an admin has turned it on, and shows them to developers and admins only', async () => {
    const { secret } = await createKey(system, 'logged', '--account', accountId);
    const marker = `secret${randomBytes(8).toString('hex')}`;
    const ask = async (stream: boolean): Promise<string> => {
      const body = { model: 'sandbox/echo', max_tokens: 100, stream, messages: [{ role: 'user', content: `Say <b>${marker}</b>` }] };
      const response = await post(system, '/v1/messages', secret, body);
      await response.text();
      expect(response.status).toBe(200);
      return response.headers.get('x-request-id')!;
    };
    const stateOf = async (id: string): Promise<string | null> =>
      (await owner.get<{ prompt_log: string | null }>(`${account}/usage/records/${id}`)).prompt_log;
    const promptOf = (id: string): string => `${account}/usage/records/${id}/prompt`;
    /** Returns the files of the installation that contain the text. */
    const filesWith = (text: string): string =>
      spawnSync('grep', ['-rlaF', '--exclude=first-key', text, system.dataDir], { encoding: 'utf8' }).stdout;
    const [developer, viewer, admin] = await Promise.all(['developer', 'viewer', 'admin'].map(browserOf));
    await addUser(system, 'operating@example.com', password, '--name', 'Olga', '--operator');
    const operator = await browserOf('operating');

    const before = await ask(false);
    expect(await stateOf(before)).toBeNull();
    expect(await developer!.refusal('GET', promptOf(before))).toEqual([404, 'not_found']);
    expect(filesWith(marker)).toBe('');

    const [{ id: projectId }] = (await owner.get<{ data: [{ id: string }] }>(`${account}/projects`)).data;
    const project = `${account}/projects/${projectId}`;
    for (const refused of [developer!, operator])
      expect(await refused.refusal('PATCH', project, { prompt_log_days: 7 })).toEqual([403, 'role_not_permitted']);
    expect(await admin!.must('PATCH', project, { prompt_log_days: 7 }, 200)).toMatchObject({ prompt_log_days: 7 });
    // Every gateway learns of it within a second.
    const id = await eventually(async () => {
      const called = await ask(true);
      return (await stateOf(called)) === null ? undefined : called;
    });
    await eventually(async () => ((await stateOf(id)) === 'kept' ? true : undefined));
    const shown = await developer!.get<{ request_body: string; answer_body: string }>(promptOf(id));
    expect(shown).toMatchObject({ request_truncated: false, answer_truncated: false, answer_partial: false });
    expect(JSON.parse(shown.request_body)).toMatchObject({ stream: true, messages: [{ content: `Say <b>${marker}</b>` }] });
    const answer = JSON.parse(shown.answer_body) as { type: string; content: { text: string }[] };
    expect([answer.type, answer.content[0]!.text]).toEqual(['message', expect.stringContaining(marker)]);
    expect(filesWith(marker)).toBe('');

    expect(await viewer!.refusal('GET', promptOf(id))).toEqual([403, 'role_not_permitted']);
    expect(await operator.refusal('GET', promptOf(id))).toEqual([403, 'role_not_permitted']);
    await system.cli('member', 'put', 'operating@example.com', '--role', 'admin', '--account', accountId);
    expect(await operator.get(promptOf(id))).toEqual(shown);
    const { id: otherId } = await system.json<{ id: string }>('account', 'create', 'Other');
    await system.cli('member', 'put', 'viewer@example.com', '--role', 'owner', '--account', otherId);
    expect(await viewer!.refusal('GET', promptOf(id).replace(accountId, otherId))).toEqual([404, 'not_found']);
    await eventually(async () => {
      const { data } = await owner.get<{ data: { action: string; actor: { name: string }; target_id: string }[] }>(`${account}/audit`);
      const reads = data.filter(({ action }) => action === 'prompt_log.read');
      return JSON.stringify(reads).includes(id) && JSON.stringify(reads).includes('developer@example.com') ? true : undefined;
    });

    const other = await ask(false);
    await eventually(async () => ((await stateOf(other)) === 'kept' ? true : undefined));
    await developer!.must('DELETE', promptOf(other), undefined, 204);
    expect(await stateOf(other)).toBeNull();
    expect(await admin!.refusal('PATCH', `${account}/privacy`, { never_log_prompts: false })).toEqual([403, 'role_not_permitted']);
    const privacy = { never_log_prompts: true, prompt_logging: true };
    expect(await owner.must('PATCH', `${account}/privacy`, { never_log_prompts: true }, 200)).toEqual(privacy);
    await eventually(async () => ((await developer!.ask('GET', promptOf(id))).status === 404 ? true : undefined));
    expect(await owner.refusal('PATCH', project, { prompt_log_days: 1 })).toEqual([409, 'failed_precondition']);
  });

  it('changes only the fields in the request, and can remove limits', async () => {
    const { key } = await owner.must<{ key: KeyView }>('POST', `${account}/keys`, { name: 'changing', limit_usd: '1' }, 201);
    const patch = (body: object) => owner.must<KeyView>('PATCH', `${account}/keys/${key.id}`, body, 200);
    expect(await patch({ state: 'disabled' })).toMatchObject({ state: 'disabled', limit_usd: '1' });
    expect(await patch({ state: 'active', limit_usd: null, models: ['sandbox/story'] })).toMatchObject({
      state: 'active',
      limit_usd: null,
      models: ['sandbox/story'],
    });
    expect(await patch({ models: null, allowed_addresses: ['192.0.2.7'] })).toMatchObject({
      models: null,
      allowed_addresses: ['192.0.2.7'],
    });
    expect(await patch({ allowed_addresses: null })).toMatchObject({ allowed_addresses: [] });
    const response = await owner.ask('PATCH', `${account}/keys/${key.id}`, { limit_usd: '1.0000000001' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'invalid_request', field: 'limit_usd' } }]);
  });

  it.each([
    ['limit_usd', { limit_usd: '0' }],
    ['limit_usd', { limit_usd: '9999999999' }],
    ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: '2027-02-31T12:00:00Z' }],
    ['expires_at', { expires_at: '2027-02-28T12:00:00+99:00' }],
    ['name', { name: '  ' }],
    ['models', { models: [] }],
    ['models.0', { models: ['größer'] }],
    ['allowed_addresses', { allowed_addresses: ['192.0.2.7', 'home'] }],
  ])('names the field %s if it is wrong when a key is created', async (field, body) => {
    const response = await owner.ask('POST', `${account}/keys`, { name: 'wrong', ...body });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'invalid_request', field } }]);
  });

  it('finds keys by name and state, newest first, and lists failed calls', async () => {
    const made: string[] = [];
    for (const name of ['Find me 1', 'other', 'find ME 2']) {
      made.push((await owner.must<{ key: KeyView }>('POST', `${account}/keys`, { name }, 201)).key.id);
    }
    await owner.must('PATCH', `${account}/keys/${made[2]}`, { state: 'disabled' }, 200);
    const found = async (query: string): Promise<string[]> =>
      (await owner.get<{ data: KeyView[] }>(`${account}/keys?limit=200&${query}`)).data.map(({ id }) => id);
    expect((await found('')).slice(0, 3)).toEqual(made.toReversed());
    expect(await found('q=find+me')).toEqual([made[2], made[0]]);
    expect(await found('q=find+me&state=active,rotating')).toEqual([made[0]]);
    expect(await owner.refusal('GET', `${account}/keys?state=gone`)).toEqual([400, 'invalid_request']);

    const { secret } = await owner.must<{ secret: string }>('POST', `${account}/keys`, { name: 'failing' }, 201);
    const failed: (string | null)[] = [];
    for (let call = 0; call < 2; call += 1) {
      const response = await chat(system, secret, { model: 'sandbox/fail-500', max_tokens: 10 });
      await response.text();
      failed.unshift(response.headers.get('x-request-id'));
    }
    const errors = async (limit: number) =>
      (await owner.get<{ data: { request_id: string; outcome: string }[] }>(`${account}/usage/errors?limit=${limit}`)).data;
    expect((await errors(200)).slice(0, 2).map(({ request_id }) => request_id)).toEqual(failed);
    expect((await errors(1)).map(({ request_id }) => request_id)).toEqual(failed.slice(0, 1));
  });

  it('reports the keys of a suspended account as suspended', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Paused');
    await addMember(system, id, 'paused@example.com', 'owner');
    const browser = await browserOf('paused');
    await browser.must('POST', `/accounts/${id}/keys`, { name: 'k' }, 201);
    await system.cli('account', 'suspend', id);
    expect(await browser.get(`/accounts/${id}/keys`)).toMatchObject({ data: [{ state: 'suspended' }] });
    expect(await system.json('key', 'list', '--account', id)).toMatchObject({ state: 'suspended' });
  });

  it('creates, rotates, changes and revokes keys while the ledger is unavailable, without what is spent', async () => {
    const models = async (secret: string) => (await fetch(`${system.baseUrl}/v1/models`, { headers: { 'x-api-key': secret } })).status;
    const budgets = [{ period: 'month', limit_usd: '3' }];
    const back = suspendLedger(system);
    try {
      const made = await owner.must<{ key: KeyView; secret: string }>('POST', `${account}/keys`, { name: 'early', budgets }, 201);
      expect(made.key).toMatchObject({
        state: 'active',
        spent_usd: '0',
        last_used_at: null,
        budgets: [{ limit_usd: '3', spent_usd: null }],
      });
      expect(await models(made.secret)).toBe(200);
      const one = `${account}/keys/${made.key.id}`;
      const rotated = await owner.must<{ key: KeyView; secret: string }>('POST', `${one}/rotate`, {}, 200);
      expect([await models(rotated.secret), await models(made.secret)]).toEqual([200, 401]);
      const renamed = await owner.must<KeyView>('PATCH', one, { name: 'late' }, 200);
      expect(renamed).toMatchObject({ name: 'late', last_used_at: null, budgets: [{ limit_usd: '3', spent_usd: null }] });
      const revoked = await owner.must<KeyView>('POST', `${one}/revoke`, {}, 200);
      expect(revoked).toMatchObject({ state: 'revoked', revoked_at: expect.any(String) });
      for (const key of [rotated.key, renamed, revoked])
        for (const field of ['spent_usd', 'held_usd', 'remaining_usd']) expect(key).not.toHaveProperty(field);
      expect(await models(rotated.secret)).toBe(401);
    } finally {
      back();
    }
    await eventually(async () => ((await owner.ask('GET', `${account}/keys`)).status === 200 ? true : undefined));
  });

  it('runs every call from the playground, even one that is marked as a retry: without a platform key, it could repeat the call of another user', async () => {
    const prompt = { model: 'sandbox/story', messages: [{ role: 'user', content: '[delay=30ms] [tokens=30] Tell' }] };
    const paths: string[] = [];
    for (const name of ['left', 'retried']) {
      const { key } = await owner.must<{ key: KeyView }>('POST', `${account}/keys`, { name }, 201);
      paths.push(`${account}/keys/${key.id}/chat/completions`);
    }
    const retry = (count: number) => ({ 'x-stainless-retry-count': String(count) });
    await expect(owner.ask('POST', paths[0]!, prompt, retry(0), AbortSignal.timeout(300))).rejects.toThrow();
    const response = await owner.ask('POST', paths[1]!, prompt, retry(1));
    expect([response.status, response.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect(Number(response.headers.get('x-tollgate-charge-usd'))).toBeGreaterThan(0);
    await response.body?.cancel();
  });

  it('permits each role what it may do, and other users nothing', async () => {
    await addUser(system, 'stranger@example.com', password);
    const made = async (name: string): Promise<number> => (await (await browserOf(name)).ask('POST', `${account}/keys`, { name })).status;
    expect(await Promise.all(['owner', 'admin', 'developer', 'billing', 'viewer', 'stranger'].map(made))).toEqual([
      201, 201, 201, 403, 403, 404,
    ]);
    const looks = async (name: string): Promise<number> => (await (await browserOf(name)).ask('GET', `${account}/balance`)).status;
    expect(await Promise.all(['developer', 'billing', 'viewer', 'stranger'].map(looks))).toEqual([200, 200, 200, 404]);
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Other');
    const { id: theirs } = await system.json<{ id: string }>('key', 'create', '--name', 'theirs', '--account', other);
    expect(await owner.refusal('GET', `${account}/keys/${theirs}`)).toEqual([404, 'not_found']);
    expect(await owner.refusal('POST', `${account}/keys/${theirs}/revoke`, {})).toEqual([404, 'not_found']);
    expect(await owner.refusal('GET', `/accounts/${other}/balance`)).toEqual([404, 'not_found']);
  });

  it('lets programs create keys and read usage with a management key, which stops working when its user loses the role', async () => {
    const { id: projectId } = await owner.must<{ id: string }>('POST', `${account}/projects`, { name: 'Programs' }, 201);
    const { key, secret } = await (
      await browserOf('admin')
    ).must<{ key: { id: string }; secret: string }>(
      'POST',
      `${account}/management-keys`,
      { name: 'CI', scopes: ['usage:read', 'keys:write'], expires_at: '2099-01-31T12:00:00Z', allowed_addresses: ['127.0.0.0/8', '::1'] },
      201,
    );
    expect(key).toMatchObject({
      state: 'active',
      scopes: ['keys:write', 'usage:read'],
      user: { email: 'admin@example.com' },
      last_used_at: null,
      last_four: secret.slice(-4),
    });
    // Like a program: without a cookie, and without the header of the console.
    const program = programOf(secret);
    const made = await program.must<{ key: KeyView; secret: string }>(
      'POST',
      `${account}/keys`,
      { name: 'by program', project_id: projectId, limit_usd: '0.5' },
      201,
    );
    expect((await chat(system, made.secret)).status).toBe(200);
    await settled(system, accountId);
    expect(await program.get(`${account}/usage/totals?key=${made.key.id}`)).toMatchObject({ data: [{ calls: 1 }] });
    const { data: members } = await owner.get<{ data: { id: string; email: string }[] }>(`${account}/members`);
    const admin = members.find(({ email }) => email === 'admin@example.com')!.id;
    expect(await program.get(`${account}/keys/${made.key.id}`)).toMatchObject({ project_id: projectId, created_by: admin });
    const totals = `${account}/usage/totals?from=2020-01-01T00:00:00Z`;
    const ofAdmin = { calls: 1, charge_usd: expect.stringMatching(/^0\.0/) };
    expect((await program.get<{ data: object[] }>(`${totals}&group_by=member`)).data).toContainEqual(
      expect.objectContaining({ name: admin, ...ofAdmin }),
    );
    expect((await owner.get<{ data: object[] }>(`${totals}&group_by=model&then_by=member`)).data).toContainEqual(
      expect.objectContaining({ name: 'sandbox/echo', then_name: admin, ...ofAdmin }),
    );
    expect(await owner.refusal('GET', `${totals}&group_by=member&then_by=key`)).toEqual([400, 'invalid_request']);
    // A filter by member selects the records, totals and exports of the keys that the member created.
    const ofKey = { data: [{ key_id: made.key.id }], next: null };
    expect(await program.get(`${account}/usage/records?member=${admin}`)).toMatchObject(ofKey);
    expect(await program.get(`${totals}&member=${admin}`)).toMatchObject({ data: [ofAdmin] });
    expect(await program.get(`${totals}&member=${admin}&group_by=day`)).toMatchObject({ data: [ofAdmin] });
    expect(await (await program.ask('GET', `${account}/usage/export?member=${admin}`)).text()).toContain(made.key.id);
    const { data: byMember } = await owner.get<{ data: { name: string | null; calls: number }[] }>(`${totals}&group_by=member`);
    for (const { name, calls } of byMember)
      expect(await owner.get(`${totals}&member=${name ?? 'none'}`)).toMatchObject({ data: [{ name: null, calls }] });
    expect(await owner.get(`${account}/usage/records?member=user_${'0'.repeat(32)}`)).toMatchObject({ data: [], next: null });
    expect(await owner.refusal('GET', `${account}/usage/records?member=ada`)).toEqual([400, 'invalid_request']);
    expect(await (await program.ask('GET', `${account}/usage/export?key=${made.key.id}`)).text()).toContain('by program');
    expect(await program.refusal('GET', `${account}/balance`)).toEqual([403, 'role_not_permitted']);

    // Each kind of key is refused for the other purpose, and the error says which one is needed.
    const rule = async (response: Response): Promise<[number, string | undefined]> => {
      const { error } = (await response.json()) as { error: { rule?: string; reason?: string } };
      return [response.status, error.rule ?? error.reason];
    };
    expect(await rule(await programOf(made.secret).ask('GET', `${account}/keys`))).toEqual([401, 'platform_key_sent']);
    expect(await rule(await programOf(`${secret}x`).ask('GET', `${account}/keys`))).toEqual([401, 'management_key_malformed']);
    const call = await chat(system, secret);
    expect([call.status, ((await call.json()) as { error: { message: string } }).error.message]).toEqual([
      401,
      'This is a management key, which cannot call models. Use a platform key, which begins with "sk-tg-".',
    ]);

    const { data: events } = await owner.get<{ data: { action: string; target_id: string; actor: string; actor_user_id: string }[] }>(
      `${account}/audit`,
    );
    expect(events.find(({ action, target_id }) => action === 'key.create' && target_id === made.key.id)).toMatchObject({
      actor: 'admin@example.com (management key CI)',
      actor_user_id: key.id,
    });
    const actorsOf = async (actor: string): Promise<Set<string | null>> => {
      const page = await owner.get<{ data: { actor_user_id: string | null }[] }>(`${account}/audit?actor=${actor}`);
      return new Set(page.data.map(({ actor_user_id: id }) => id));
    };
    for (const actor of [key.id, admin]) expect(await actorsOf(actor)).toEqual(new Set([actor]));
    expect(await actorsOf('operator')).toEqual(new Set([null]));
    expect(await actorsOf(`user_${'0'.repeat(32)}`)).toEqual(new Set());
    expect(await owner.refusal('GET', `${account}/audit?actor=admin`)).toEqual([400, 'invalid_request']);
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Elsewhere');
    expect(await program.refusal('GET', `/accounts/${other}/keys`)).toEqual([404, 'not_found']);

    await system.cli('member', 'put', 'admin@example.com', '--role', 'viewer', '--account', accountId);
    expect(await program.refusal('POST', `${account}/keys`, { name: 'too late' })).toEqual([403, 'role_not_permitted']);
    await program.get(`${account}/keys`);
    await system.cli('member', 'put', 'admin@example.com', '--role', 'admin', '--account', accountId);
    expect(await system.json('management-key', 'list', '--account', accountId)).toMatchObject({
      id: key.id,
      state: 'active',
      last_used_at: expect.any(String),
    });
    expect(await owner.must('POST', `${account}/management-keys/${key.id}/revoke`, {}, 200)).toMatchObject({ state: 'revoked' });
    expect(await program.refusal('GET', `${account}/keys`)).toEqual([401, 'key_revoked']);
    for (const name of ['developer', 'billing', 'viewer'])
      expect(await (await browserOf(name)).refusal('GET', `${account}/management-keys`)).toEqual([403, 'role_not_permitted']);
  });

  it('refuses everything outside the scopes of a management key', async () => {
    const budgets = [{ period: 'month', limit_usd: '4' }];
    const project = await owner.must<{ id: string }>('POST', `${account}/projects`, { name: 'Scoped', budgets }, 201);
    const { key, secret } = await owner.must<{ key: KeyView; secret: string }>(
      'POST',
      `${account}/keys`,
      { name: 'scoped', project_id: project.id, budgets },
      201,
    );
    const call = (await chat(system, secret)).headers.get('x-request-id')!;
    await settled(system, accountId);
    const ids: Record<string, string> = { account: accountId, project: project.id, key: key.id, id: call, month: '2026-11' };
    const at = (path: string): string => path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x');
    interface Documented {
      readonly security?: readonly { readonly managementKey?: readonly string[] }[];
    }
    const { paths } = (await (await fetch(`${system.baseUrl}/console/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Documented>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        // Sign-in and the like need neither a session nor a key.
        .filter(([, { security }]) => security?.length !== 0)
        .map(([method, { security = [] }]) => ({
          method: method.toUpperCase(),
          path: at(path),
          scope: security.flatMap(({ managementKey = [] }) => managementKey)[0],
        })),
    );
    const outcome = async (program: Browser, { method, path }: { method: string; path: string }): Promise<string> => {
      const response = await program.ask(method, path, method === 'GET' ? undefined : {});
      const text = await response.text();
      return response.status === 403 ? (JSON.parse(text) as { error: { code: string } }).error.code : 'admitted';
    };
    const programWith = async (...granted: string[]): Promise<Browser> => {
      const { secret: own } = await owner.must<{ secret: string }>(
        'POST',
        `${account}/management-keys`,
        { name: 'S', scopes: granted },
        201,
      );
      return programOf(own);
    };
    const wrong: string[] = [];
    const every = await programWith(...scopes);
    for (const each of operations.filter(({ scope }) => scope === undefined))
      if ((await outcome(every, each)) !== 'role_not_permitted') wrong.push(`every scope: ${each.method} ${each.path}`);
    // The checks are the same in both modes; the RPCs behind them are slower between processes.
    for (const scope of mode === 'single' ? scopes : ['usage:read']) {
      const program = await programWith(scope);
      const own = [scope, scope.replace(':write', ':read')];
      for (const each of operations.filter((operation) => operation.scope !== undefined)) {
        const isOwn = own.includes(each.scope!);
        // Other tests cover operations that change something.
        if (isOwn && each.method !== 'GET') continue;
        if ((await outcome(program, each)) !== (isOwn ? 'admitted' : 'role_not_permitted'))
          wrong.push(`${scope}: ${each.method} ${each.path}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(new Set(operations.flatMap(({ scope }) => scope ?? []))).toEqual(new Set(scopes));
    expect(operations.length).toBeGreaterThan(100);

    // A program that may only read webhooks sees no secret in the path of an address.
    const [writer, reader] = [await programWith('webhooks:write'), await programWith('webhooks:read')];
    const url = 'https://hooks.example.com/T000/secret';
    const { endpoint } = await writer.must<{ endpoint: { id: string } }>(
      'POST',
      `${account}/webhooks`,
      { url, event_types: ['key.refused'] },
      201,
    );
    expect(await writer.get(`${account}/webhooks`)).toMatchObject({ data: [{ id: endpoint.id, url }] });
    expect(await reader.get(`${account}/webhooks`)).toMatchObject({ data: [{ id: endpoint.id, url: 'https://hooks.example.com/…' }] });
    expect(await writer.get(`${account}/webhook-deliveries`)).toMatchObject({ data: [] });
    expect(await reader.refusal('DELETE', `${account}/webhooks/${endpoint.id}`)).toEqual([403, 'role_not_permitted']);
    await writer.must('DELETE', `${account}/webhooks/${endpoint.id}`, undefined, 204);
    const ofProject = { name: 'P', scopes: ['webhooks:read'], project_id: project.id };
    expect(await owner.refusal('POST', `${account}/management-keys`, ofProject)).toEqual([400, 'invalid_request']);

    // A key of one project sees only that project.
    const { secret: limited } = await owner.must<{ secret: string }>(
      'POST',
      `${account}/management-keys`,
      { name: 'Scoped', scopes: ['keys:write', 'usage:read', 'projects:read'], project_id: project.id },
      201,
    );
    const program = programOf(limited);
    expect((await program.get<{ data: KeyView[] }>(`${account}/keys`)).data.map(({ id }) => id)).toEqual([key.id]);
    expect((await program.get<{ data: { id: string }[] }>(`${account}/projects`)).data.map(({ id }) => id)).toEqual([project.id]);
    expect(await program.refusal('POST', `${account}/keys`, { name: 'elsewhere' })).toEqual([403, 'role_not_permitted']);
    await program.must('POST', `${account}/keys`, { name: 'here', project_id: project.id }, 201);
  });

  it('does what the docs show with a management key', async () => {
    const options = ['--name', 'docs', '--user', 'owner@example.com', '--scopes', 'keys:write,usage:read', '--account', accountId];
    const { secret } = await system.json<{ secret: string }>('management-key', 'create', ...options);
    const page = readFileSync(join(root, 'docs/keys.md'), 'utf8').replaceAll('http://127.0.0.1:8080', system.baseUrl);
    const sample = (language: string): string => new RegExp(`\`\`\`${language}\\n([^\`]*MANAGEMENT_KEY[^\`]*)`).exec(page)![1]!;
    const env = cleanEnv({ ACCOUNT: accountId, MANAGEMENT_KEY: secret });
    const [shell, python] = await Promise.all([
      promisify(execFile)('sh', ['-ec', sample('sh')], { env }),
      promisify(execFile)('python3', ['-c', sample('python')], { env }),
    ]);
    expect(shell.stdout).toMatch(/"secret":"sk-tg-\w{49}".*"charge_usd":/s);
    expect(python.stdout).toMatch(/^key_[0-9a-f]{32} sk-tg-\w{49}\nkey_[0-9a-f]{32} \d+ 0\.\d+\n/);
  });

  it('shows a member with a role in one project only that project, and lets them change only its keys', async () => {
    const create = async (name: string) => {
      const project = await owner.must<{ id: string }>('POST', `${account}/projects`, { name }, 201);
      const body = { name: `${name} key`, project_id: project.id };
      const { key, secret } = await owner.must<{ key: KeyView; secret: string }>('POST', `${account}/keys`, body, 201);
      const call = await chat(system, secret);
      const refused = await chat(system, secret, { model: 'no/such-model' });
      await Promise.all([call.text(), refused.text()]);
      return { id: project.id, key: key.id, call: call.headers.get('x-request-id')!, refused: refused.headers.get('x-request-id')! };
    };
    const [mine, other] = [await create('Search'), await create('Secret plans')];
    await settled(system, accountId);
    const projects = [{ project_id: mine.id, role: 'developer' }];
    const invited = { email: 'guest@example.com', role: 'member', projects };
    const { token } = await owner.must<{ token: string }>('POST', `${account}/invitations`, invited, 201);
    const guest = new Browser(system);
    await guest.must('POST', '/invitation/accept', { token, name: 'Guest', password }, 204);
    const { user } = await guest.get<{ user: { id: string } }>('/me');
    expect(await guest.get('/me')).toMatchObject({
      accounts: [{ role: 'member', projects, permissions: ['see projects', 'change keys'] }],
    });

    // Everything that the API can show, for the ids of the other project.
    const { paths } = (await (await fetch(`${system.baseUrl}/console/openapi.json`)).json()) as { paths: Record<string, object> };
    const reads = Object.keys(paths).filter((path) => path.startsWith('/accounts/{account}') && 'get' in paths[path]!);
    expect(reads.length).toBeGreaterThan(20);
    const ids: Record<string, string> = { account: accountId, project: other.id, key: other.key, id: other.call, month: '2026-11' };
    const seen: Record<string, string> = {};
    const isStored = async () => (await owner.get<{ data: object[] }>(`${account}/refusals?project=${mine.id}`)).data.length === 1;
    await eventually(async () => ((await isStored()) ? true : undefined));
    for (const path of reads) {
      const response = await guest.ask(
        'GET',
        path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x'),
      );
      if (response.ok) seen[path.slice('/accounts/{account}'.length)] = await response.text();
      else expect([403, 404]).toContain(response.status);
    }
    const lists = [
      'keys',
      'privacy',
      'projects',
      'refusal-totals',
      'refusals',
      'usage/errors',
      'usage/export',
      'usage/performance',
      'usage/records',
      'usage/totals',
    ];
    expect(Object.keys(seen).toSorted()).toEqual(lists.map((list) => `/${list}`));
    for (const text of Object.values(seen)) for (const id of Object.values(other)) expect(text).not.toContain(id);
    expect(['/keys', '/projects', '/refusals', '/usage/export', '/usage/records'].filter((list) => !seen[list]!.includes(mine.id))).toEqual(
      [],
    );
    const calls = { data: [{ calls: 1 }] };
    expect([JSON.parse(seen['/usage/totals']!), JSON.parse(seen['/refusal-totals']!)]).toMatchObject([calls, calls]);
    for (const path of ['totals?group_by=member', 'totals?member=none', 'records?member=none', 'export?member=none'])
      expect(await guest.refusal('GET', `${account}/usage/${path}`)).toEqual([403, 'role_not_permitted']);
    for (const path of ['usage/records', 'usage/totals', 'usage/export', 'refusals', 'refusal-totals'])
      expect(await guest.refusal('GET', `${account}/${path}?project=${other.id}`)).toEqual([403, 'role_not_permitted']);
    expect(await guest.get(`${account}/keys?project=${other.id}`)).toMatchObject({ data: [] });
    for (const id of [other.call, other.refused]) {
      expect(await guest.get(`${account}/usage/records?request_id=${id}`)).toMatchObject({ data: [] });
      expect(await guest.get(`${account}/refusals?request_id=${id}`)).toMatchObject({ data: [] });
    }
    expect(await guest.get(`${account}/usage/records/${mine.call}/hold`)).toMatchObject({ state: 'settled' });

    const [hidden, forbidden] = [
      [404, 'not_found'],
      [403, 'role_not_permitted'],
    ];
    const key = { name: 'a key' };
    for (const [method, path, body, refusal] of [
      ['PATCH', `/keys/${other.key}`, key, hidden],
      ['POST', `/keys/${other.key}/rotate`, {}, hidden],
      ['POST', `/keys/${other.key}/revoke`, undefined, hidden],
      ['POST', `/keys/${other.key}/chat/completions`, { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hi' }] }, hidden],
      ['PATCH', `/keys/${mine.key}`, { project_id: other.id }, forbidden],
      ['POST', '/keys', { ...key, project_id: other.id }, forbidden],
      ['POST', '/keys', key, forbidden],
      ['PATCH', `/projects/${mine.id}`, key, forbidden],
      ['DELETE', `/projects/${mine.id}`, undefined, forbidden],
      ['POST', '/projects', key, forbidden],
      ['PATCH', '/budgets', { time_zone: 'UTC' }, forbidden],
      ['PUT', `/members/${user.id}`, { role: 'owner' }, forbidden],
      ['PUT', `/members/${user.id}/projects/${other.id}`, { role: 'viewer' }, forbidden],
      ['POST', '/invitations', { email: 'friend@example.com', role: 'viewer' }, forbidden],
      ['POST', '/redemptions', { code: 'x' }, forbidden],
    ] as const)
      expect([method, path, await guest.refusal(method, `${account}${path}`, body)]).toEqual([method, path, refusal]);
    const { key: own } = await guest.must<{ key: KeyView }>('POST', `${account}/keys`, { ...key, project_id: mine.id }, 201);
    await guest.must('POST', `${account}/keys/${own.id}/revoke`, undefined, 200);
    expect(await guest.get(`${account}/projects/${mine.id}`)).toMatchObject({ id: mine.id, keys: 1 });
    const prompt = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hi' }] };
    await guest.must('POST', `${account}/keys/${mine.key}/chat/completions`, prompt, 200);

    // A viewer can only read, and a member without a role in any project sees nothing.
    const role = `${account}/members/${user.id}/projects/${mine.id}`;
    await owner.must('PUT', role, { role: 'viewer' }, 200);
    expect(await guest.get(`${account}/keys/${mine.key}`)).toMatchObject({ id: mine.key });
    expect(await guest.refusal('POST', `${account}/keys/${mine.key}/rotate`, {})).toEqual(forbidden);
    expect(await guest.refusal('POST', `${account}/keys`, { ...key, project_id: mine.id })).toEqual(forbidden);
    // A role in a project adds to that in the account.
    await system.cli('member', 'project', 'viewer@example.com', mine.id, '--role', 'developer');
    const viewer = await browserOf('viewer');
    await viewer.must('PATCH', `${account}/keys/${mine.key}`, { name: 'renamed' }, 200);
    await viewer.must('POST', `${account}/keys/${mine.key}/chat/completions`, prompt, 200);
    // Which includes spending with a key that the viewer may only see.
    expect(await viewer.refusal('PATCH', `${account}/keys/${other.key}`, key)).toEqual(forbidden);
    expect(await viewer.refusal('POST', `${account}/keys/${other.key}/chat/completions`, prompt)).toEqual(forbidden);
    await owner.must('DELETE', role, undefined, 200);
    for (const list of lists) expect([list, await guest.refusal('GET', `${account}/${list}`)]).toEqual([list, forbidden]);
    const { data } = await owner.get<{ data: { action: string; detail: object }[] }>(`${account}/audit`);
    expect(data.find(({ action }) => action === 'member.project')).toMatchObject({
      detail: { email: 'guest@example.com', project: mine.id, role: null, former_role: 'viewer' },
    });
    await guest.must('DELETE', `${account}/members/${user.id}`, undefined, 204);
  });

  it('gives an operator access to every account', async () => {
    await addUser(system, 'operator@example.com', password, '--operator');
    const browser = await browserOf('operator');
    expect(await browser.get(`${account}/balance`)).toHaveProperty('available_usd');
    // Only operators see the upstream of a call.
    const {
      data: [record],
    } = await browser.get<{ data: [{ request_id: string }] }>(`${account}/usage/records?limit=1&model=sandbox/echo`);
    expect(await browser.get(`${account}/usage/records/${record.request_id}`)).toMatchObject({
      upstream: { id: 'sandbox', model: expect.any(String) },
    });
    expect(await owner.get(`${account}/usage/records/${record.request_id}`)).not.toHaveProperty('upstream');
  });

  it('limits an account to a hundred open invitations, and says what to do then', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Crowded');
    await system.cli('member', 'put', 'owner@example.com', '--role', 'owner', '--account', id);
    const invitations = `/accounts/${id}/invitations`;
    const invite = async (email: string) => owner.must<{ invitation: { id: string } }>('POST', invitations, { email, role: 'viewer' }, 201);
    for (let number = 1; number < 100; number += 1) await invite(`guest${number}@example.com`);
    const last = await invite('guest100@example.com');
    const response = await owner.ask('POST', invitations, { email: 'one.more@example.com', role: 'viewer' });
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { error: { code: 'failed_precondition', message: expect.stringContaining('Revoke some') } },
    ]);
    await owner.must('DELETE', `${invitations}/${last.invitation.id}`, undefined, 204);
    await invite('one.more@example.com');
  });

  it('adds members by invitation, and lets only owners add owners', async () => {
    const admin = await browserOf('admin');
    expect(await admin.refusal('POST', `${account}/invitations`, { email: 'new@example.com', role: 'owner' })).toEqual([
      403,
      'role_not_permitted',
    ]);
    const { token } = await admin.must<{ token: string }>(
      'POST',
      `${account}/invitations`,
      { email: 'new@example.com', role: 'developer' },
      201,
    );
    const newcomer = new Browser(system);
    expect(await newcomer.must('POST', '/invitation', { token }, 200)).toMatchObject({
      account_name: 'Acme',
      email: 'new@example.com',
      role: 'developer',
    });
    await newcomer.must('POST', '/invitation/accept', { token, name: 'New', password }, 204);
    expect(await newcomer.get('/me')).toMatchObject({ accounts: [{ id: accountId, role: 'developer' }] });
    const { user } = await newcomer.get<{ user: { id: string } }>('/me');
    const { user: top } = await owner.get<{ user: { id: string } }>('/me');
    expect(await admin.refusal('PUT', `${account}/members/${user.id}`, { role: 'owner' })).toEqual([403, 'role_not_permitted']);
    expect(await admin.refusal('DELETE', `${account}/members/${top.id}`)).toEqual([403, 'role_not_permitted']);
    expect(await owner.must('PUT', `${account}/members/${user.id}`, { role: 'owner' }, 200)).toMatchObject({ role: 'owner' });
    await newcomer.must('DELETE', `${account}/members/${user.id}`, undefined, 204);
    expect(await newcomer.refusal('GET', `${account}/balance`)).toEqual([404, 'not_found']);
    // Users become members only when they accept.
    expect(await owner.refusal('PUT', `${account}/members/${user.id}`, { role: 'viewer' })).toEqual([404, 'not_found']);
    const { data } = await admin.get<{ data: { action: string; actor: string }[] }>(`${account}/audit`);
    expect(data[0]).toMatchObject({ action: 'member.remove', actor: 'new@example.com' });
  });

  it('signs in once with a link, and lists and ends sessions', async () => {
    const { token } = await system.json<{ token: string }>('user', 'link', 'developer@example.com');
    const browser = new Browser(system, { 'user-agent': 'A browser' });
    await browser.must('POST', '/session/link', { token }, 204);
    expect(await browser.refusal('POST', '/session/link', { token })).toEqual([401, 'sign_in_refused']);
    const { data } = await browser.get<{ data: { id: string; present: boolean; user_agent: string }[] }>('/me/sessions');
    expect(data.find(({ present }) => present)).toMatchObject({ user_agent: 'A browser' });
    const other = await browserOf('developer');
    await browser.must('DELETE', '/me/sessions', undefined, 200);
    expect(await other.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    await browser.must('PUT', '/me/password', { new_password: 'a new long password' }, 204);
    await new Browser(system).signIn('developer@example.com', 'a new long password');
  });

  it('exports exactly the records of a filter, and pages through them without a gap', async () => {
    const { secret, key } = await owner.must<{ secret: string; key: KeyView }>('POST', `${account}/keys`, { name: 'export' }, 201);
    for (let call = 0; call < 5; call += 1) await (await chat(system, secret)).text();
    await settled(system, accountId);
    const all: { request_id: string; charge_usd: string }[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { data: typeof all; next: string | null } = await owner.get(
        `${account}/usage/records?key=${key.id}&limit=2&cursor=${encodeURIComponent(cursor)}`,
      );
      all.push(...page.data);
      cursor = page.next;
    }
    expect(new Set(all.map(({ request_id }) => request_id)).size).toBe(5);
    const file = async (format: string): Promise<Response> => owner.ask('GET', `${account}/usage/export?key=${key.id}&format=${format}`);
    const csv = await file('csv');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="usage.csv"');
    expect(csv.headers.get('content-encoding')).toBe('gzip');
    const [head, ...lines] = (await csv.text())
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    expect(lines.map((line) => line[head!.indexOf('request_id')])).toEqual(all.map(({ request_id }) => request_id));
    expect(lines.map((line) => line[head!.indexOf('charge_usd')])).toEqual(all.map(({ charge_usd }) => charge_usd));
    // Each line has the names and prices.
    for (const line of lines) {
      const named = Object.fromEntries(head!.map((name, index) => [name, line[index]]));
      expect(named).toMatchObject({ key_name: 'export', project_name: 'Default', reason: '', input_usd_per_mtok: '0.1' });
      expect(named['price_version']).toMatch(/^price_\w+$/);
    }
    expect(
      (await (await file('jsonl')).text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(all);
    const one = all[2]!.request_id;
    expect(await owner.get(`${account}/usage/records?key=${key.id}&request_id=${one}`)).toMatchObject({ data: [all[2]], next: null });
    expect((await (await owner.ask('GET', `${account}/usage/export?request_id=${one}&format=jsonl`)).text()).trim()).toBe(
      JSON.stringify(all[2]),
    );
    expect(await owner.get(`${account}/usage/records?request_id=${one}&outcome=timeout`)).toMatchObject({ data: [], next: null });
    expect(await owner.refusal('GET', `${account}/usage/totals?request_id=${one}`)).toEqual([400, 'invalid_request']);
    expect(await owner.get(`${account}/usage/records/${one}/hold`)).toMatchObject({
      state: 'settled',
      captured_usd: all[2]!.charge_usd,
      refunded_usd: '0',
    });
    expect(await owner.get('/settings')).toEqual(settingsByDefault);
    const response = await owner.ask('GET', `${account}/usage/records?outcome=unknown`);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { field: 'outcome', message: expect.stringContaining('completed') } },
    ]);
  });
});
