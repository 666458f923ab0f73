// Projects: their models and limits apply to all of their keys, within a second, and usage stays with the project in which it was recorded.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anthropicLibraries, openaiLibraries } from '../clients/libraries.js';
import { chat, createKey, get, settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Total {
  readonly name: string;
  readonly calls: number;
  readonly charge_nano_usd: string;
}

describe.each(modes)('projects, %s', (mode) => {
  let system: System;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem(mode);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await system.cli('balance', 'deposit', '5', '--account', accountId);
  });

  afterAll(() => system?.stop());

  const newProject = async (name: string, ...options: string[]): Promise<string> =>
    (await system.json<{ id: string }>('project', 'create', name, '--account', accountId, ...options)).id;
  const keyIn = (project: string) => createKey(system, 'laptop', '--account', accountId, '--project', project);
  async function refused(answer: Response, status: number): Promise<Record<string, unknown>> {
    expect(answer.status).toBe(status);
    return ((await answer.json()) as { error: Record<string, unknown> }).error;
  }
  const untilStatus = (secret: string, status: number) =>
    eventually(async () => ((await chat(system, secret)).status === status ? true : undefined));

  it('restrict all of their keys to their models and limits, and changes apply within a second', async () => {
    const project = await newProject('Limited', '--rpm', '1');
    const keys = await Promise.all([keyIn(project), keyIn(project)]);
    const first = await chat(system, keys[0]!.secret);
    await first.text();
    expect([first.status, first.headers.get('x-ratelimit-limit-requests')]).toEqual([200, '1']);
    expect(await refused(await chat(system, keys[1]!.secret), 429)).toMatchObject({
      scope: 'project',
      limit: 'requests_per_minute',
      max: '1',
      message: expect.stringMatching(/^This project may make 1 request per minute and has made 1\./),
    });

    await system.cli('project', 'update', project, '--rpm', 'none', '--models', 'sandbox/reason');
    const changedAtMs = Date.now();
    await untilStatus(keys[1]!.secret, 403);
    // Later than a second on a busy machine, but much sooner than the five minutes after which the gateway would notice it without a push.
    expect(Date.now() - changedAtMs).toBeLessThan(10_000);
    expect(await refused(await chat(system, keys[0]!.secret), 403)).toMatchObject({
      reason: 'model_not_permitted',
      message: expect.stringContaining('The project "Limited"'),
    });
    const listed = (await (await get(system, '/v1/models', keys[0]!.secret)).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual(['sandbox/reason']);
    await system.cli('project', 'update', project, '--models', 'all');
    await untilStatus(keys[0]!.secret, 200);
  });

  it('keep the usage of a key that moves to another project', async () => {
    const [before, after] = [await newProject('Before'), await newProject('After', '--models', 'sandbox/reason')];
    const { id, secret } = await keyIn(before);
    for (let call = 0; call < 2; call += 1) await (await chat(system, secret)).text();
    await system.cli('key', 'update', id, '--project', after);
    await untilStatus(secret, 403);
    await system.cli('project', 'update', after, '--models', 'all');
    await untilStatus(secret, 200);
    const { rows } = await settled(system, accountId, 3);
    const ofKey = rows.filter(({ key_id: keyId }) => keyId === id) as unknown as { project_id: string; charge_nano_usd: string }[];
    // The gateway may let another call run in the first project before it learns of the move.
    const expected = [before, after].map((project) => {
      const charges = ofKey.filter((row) => row.project_id === project).map((row) => BigInt(row.charge_nano_usd));
      return [project, charges.length, String(charges.reduce((sum, charge) => sum + charge))];
    });
    const totals = (await system.cli('usage', 'totals', '--account', accountId, '--key', id, '--by', 'project', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Total);
    expect(totals.map(({ name, calls, charge_nano_usd: charge }) => [name, calls, charge])).toEqual(expect.arrayContaining(expected));
    expect(ofKey).toHaveLength(totals.reduce((sum, { calls }) => sum + calls, 0));
    const earlier = rows.find((row) => row.key_id === id && (row as unknown as { project_id: string }).project_id === before)!;
    expect((await get(system, `/v1/usage/${earlier.id}`, secret)).status).toBe(200);
    expect(totals).toHaveLength(2);
    await expect(system.cli('project', 'delete', after)).rejects.toThrow('keys that are not revoked');
    expect(await system.json('project', 'delete', before)).toMatchObject({ name: 'Before', state: 'deleted' });
  });

  it('show the usage records and refusals of their calls only to their own keys', async () => {
    const [own, other] = [await newProject('Own', '--models', 'sandbox/echo'), await newProject('Foreign')];
    const [caller, colleague, stranger] = [await keyIn(own), await keyIn(own), await keyIn(other)];
    const called = await chat(system, caller.secret);
    await called.text();
    const denied = await chat(system, caller.secret, { model: 'sandbox/reason' });
    await refused(denied, 403);
    for (const response of [called, denied]) {
      const shown = ({ secret }: { readonly secret: string }) => get(system, `/v1/usage/${response.headers.get('x-request-id')}`, secret);
      const body = await eventually(async () => {
        const answer = await shown(colleague);
        return answer.status === 200 ? ((await answer.json()) as object) : undefined;
      });
      expect(body).toMatchObject({ project_id: own, key_id: caller.id });
      expect(await refused(await shown(stranger), 404)).toMatchObject({ reason: 'not_found' });
    }
  });

  it('have budgets, which their keys can read with what is spent', async () => {
    const project = await newProject('Budgeted', '--budget', 'month:1', '--budget', 'day:0.5:soft');
    const { secret } = await keyIn(project);
    await (await chat(system, secret)).text();
    await settled(system, accountId);
    const key = (await (await get(system, '/v1/key', secret)).json()) as { project: object; budgets: Record<string, string>[] };
    expect(key.project).toMatchObject({ id: project, name: 'Budgeted', models: null });
    expect(key.budgets).toMatchObject([
      { scope: 'project', period: 'month', limit_usd: '1', soft: false, resets_at: expect.stringMatching(/-01T00:00:00.000Z$/) },
      { scope: 'project', period: 'day', limit_usd: '0.5', soft: true },
    ]);
    expect(Number(key.budgets[0]!['spent_usd'])).toBeGreaterThan(0);
    expect(await system.json('project', 'show', project)).toMatchObject({
      budgets: [{ period: 'month', spent_usd: key.budgets[0]!['spent_usd'] }, { period: 'day' }],
    });
    await system.cli('project', 'update', project, '--budget', 'month:0.000000001');
    await untilStatus(secret, 402);
    await system.cli('project', 'update', project, '--budget', 'month:none');
    await untilStatus(secret, 200);
  });

  it('use a cheaper model once a share of a budget is spent, and the answer and the record show it', async () => {
    const project = await newProject('Thrifty', '--budget', 'month:0.0001:soft', '--budget-fallback', 'sandbox/echo:50');
    const { id: keyId, secret } = await keyIn(project);
    const [{ OpenAI }, { Anthropic }] = [openaiLibraries[0], anthropicLibraries[0]];
    const openai = new OpenAI({ apiKey: secret, baseURL: `${system.baseUrl}/v1` });
    const call = () =>
      openai.chat.completions.create({ model: 'sandbox/reason', messages: [{ role: 'user', content: 'tokens=40' }] }).withResponse();
    // Each call costs a tenth of the budget or more.
    let last = await call();
    for (let calls = 1; calls < 20 && last.data.model !== 'sandbox/echo'; calls += 1) last = await call();
    expect(last.data.model).toBe('sandbox/echo');
    const headers = (response: { headers: { get(name: string): string | null } }) =>
      ['x-tollgate-model', 'x-tollgate-requested-model', 'x-tollgate-fallback-reason'].map((name) => response.headers.get(name));
    const expected = ['sandbox/echo', 'sandbox/reason', expect.stringMatching(/^budget bud_[0-9a-f]{32} of the project is \d+% spent$/)];
    expect(headers(last.response)).toEqual(expected);
    const anthropic = new Anthropic({ apiKey: secret, baseURL: system.baseUrl });
    const message = { model: 'sandbox/reason', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hi' }] };
    const stream = await anthropic.messages.create({ ...message, stream: true }).withResponse();
    const models: string[] = [];
    for await (const event of stream.data) if (event.type === 'message_start') models.push(event.message.model);
    expect([models, headers(stream.response)]).toEqual([['sandbox/echo'], expected]);

    const { rows } = await settled(system, accountId);
    const shown = rows.filter((row) => row.key_id === keyId) as unknown as (Record<string, string> & { fallback_spent_percent: number })[];
    const replaced = shown.filter((row) => row['model_id'] === 'sandbox/echo');
    expect(replaced.every((row) => row['requested_model_id'] === 'sandbox/reason' && row.fallback_spent_percent >= 50)).toBe(true);
    expect(shown.filter((row) => row['model_id'] === 'sandbox/reason').map((row) => row['fallback_budget_id'])).not.toContain(
      replaced[0]!['fallback_budget_id'],
    );
    const record = await (await get(system, `/v1/usage/${last.response.headers.get('x-request-id')}`, secret)).json();
    expect(record).toMatchObject({
      model: 'sandbox/echo',
      requested_model: 'sandbox/reason',
      fallback_reason: { budget_id: replaced[0]!['fallback_budget_id'] },
    });

    // A model that the key may not use is never chosen, and the setting can be removed.
    await system.cli('key', 'models', keyId, 'sandbox/reason');
    await eventually(async () => ((await call()).data.model === 'sandbox/reason' ? true : undefined));
    await system.cli('key', 'models', keyId, 'all');
    await eventually(async () => ((await call()).data.model === 'sandbox/echo' ? true : undefined));
    await system.cli('project', 'update', project, '--budget-fallback', 'none');
    await eventually(async () => ((await call()).data.model === 'sandbox/reason' ? true : undefined));
  });

  it('try the cheaper model before a hard budget refuses a call, and never spend more than the budget', async () => {
    const project = await newProject('Thriftier', '--budget', 'month:0.004', '--budget-fallback', 'sandbox/echo:1');
    const { secret } = await keyIn(project);
    const content = (tokens: number) => ({ messages: [{ role: 'user', content: `tokens=${tokens}` }] });
    await (await chat(system, secret, { model: 'sandbox/story', ...content(200) })).text();
    await settled(system, accountId);
    // The budget covers it only at the price of the cheaper model.
    const answer = await chat(system, secret, { model: 'sandbox/reason', max_tokens: 8000, ...content(1) });
    expect([answer.status, answer.headers.get('x-tollgate-model')]).toEqual([200, 'sandbox/echo']);
    await answer.text();
    const calls = Array.from({ length: 20 }, async () => {
      const each = await chat(system, secret, { model: 'sandbox/reason', max_tokens: 4000, ...content(1) });
      await each.text();
      return each.status;
    });
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200, 402]));
    await settled(system, accountId);
    const { budgets } = await system.json<{ budgets: [{ spent_usd: string }] }>('project', 'show', project);
    expect(Number(budgets[0].spent_usd)).toBeLessThanOrEqual(0.004);
  });
});
