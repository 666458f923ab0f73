// Operators in the console: models, dated prices by draft, difference and publishing, and upstreams with their tests.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, get } from '../support/clients/calls.js';
import { addUser, Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

interface Figures {
  input: string;
  cache_read: string;
  cache_write_5m: string;
  cache_write_1h: string;
  output: string;
  reasoning: string | null;
}

interface PriceView {
  id: string;
  effective_from: string;
  usd_per_million_tokens: Figures;
}

interface DraftView {
  version: number;
  author: string;
  effective_from: string | null;
  diff: {
    before: PriceView | null;
    changes: { unit: string; before_usd: string | null; after_usd: string | null; change_percent: string | null }[];
    warnings: { kind: string; unit?: string }[];
    typical_calls: { name: string; tokens: { input: number; output: number }; before_usd: string | null; after_usd: string }[];
  };
}

interface ModelView {
  id: string;
  state: string;
  pricing: string;
  price: PriceView | null;
  next_price: PriceView | null;
  draft: DraftView | null;
  served: boolean;
  not_served_because: string | null;
  prices: (PriceView & { state: string; effective_until: string | null })[];
  targets: { state: string }[];
}

const figures = (input: string, output: string, more: Partial<Figures> = {}): Figures => ({
  input,
  cache_read: input,
  cache_write_5m: input,
  cache_write_1h: input,
  output,
  reasoning: null,
  ...more,
});

const newModel = {
  id: 'acme/fast',
  display_name: 'Acme Fast',
  context_limit_tokens: 100_000,
  output_limit_tokens: 4000,
  input_modalities: ['text'],
  output_modalities: ['text'],
  capabilities: ['tools', 'sampling'],
  targets: [{ upstream_id: 'acme', upstream_model: 'text' }],
  tokenizer: 'o200k',
};

describe.each(modes)('the operator’s catalog, %s', (mode) => {
  let system: System;
  let stub: StubUpstream;
  let operator: Browser;
  let owner: Browser;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, { OPENAI_API_KEY: stubApiKey, OPENAI_BASE_URL: stub.baseUrl });
    await addUser(system, 'operator@example.com', password, '--operator');
    await addUser(system, 'owner@example.com', password);
    operator = await signedIn(system, 'operator@example.com');
    owner = await signedIn(system, 'owner@example.com');
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  const model = (id: string) => operator.get<ModelView>(`/operator/models/${id}`);
  const draft = (id: string, usd: Figures, more: object = {}) =>
    operator.must<DraftView>('PUT', `/operator/price-drafts/${id}`, { usd_per_million_tokens: usd, ...more }, 200);
  const publish = (id: string, { version, diff }: DraftView) =>
    operator.must<PriceView>('POST', `/operator/prices/${id}`, { draft_version: version, before_price_id: diff.before?.id ?? null }, 201);
  const fault = async (method: string, path: string, body?: unknown): Promise<[number, string, string | null]> => {
    const response = await operator.ask(method, path, body);
    const { error } = (await response.json()) as { error: { code: string; field: string | null } };
    return [response.status, error.code, error.field];
  };
  const catalogPrice = async (id: string): Promise<Figures | null> => {
    const { data } = (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as {
      data: { id: string; usd_per_million_tokens: Figures | null }[];
    };
    return data.find((each) => each.id === id)!.usd_per_million_tokens;
  };
  const page = async (id: string): Promise<string> =>
    (await fetch(`${system.baseUrl}/models/${id}`, { headers: { accept: 'text/html' } })).text();

  it('is not found by users who are not operators', async () => {
    for (const path of [
      '/operator/models',
      '/operator/models/sandbox/echo',
      '/operator/upstreams',
      '/operator/price-drafts',
      '/operator/catalog.json',
    ]) {
      expect(await owner.refusal('GET', path)).toEqual([404, 'not_found']);
      expect(await new Browser(system).refusal('GET', path)).toEqual([401, 'session_unknown']);
    }
    expect(
      await owner.refusal('POST', '/operator/upstreams', { upstream: { id: 'mine', api_format: 'messages', base_url: stub.baseUrl } }),
    ).toEqual([404, 'not_found']);
    expect(await owner.refusal('PATCH', '/operator/models/sandbox/echo', { model: { state: 'retired' } })).toEqual([404, 'not_found']);
  });

  it('shows every model with its price, and which of them are served', async () => {
    const { data } = await operator.get<{ data: ModelView[] }>('/operator/models');
    const echo = data.find(({ id }) => id === 'sandbox/echo')!;
    expect(echo).toMatchObject({ pricing: 'priced', served: true, not_served_because: null, targets: [{ state: 'ok' }], draft: null });
    const away = data.find(({ targets }) => targets.every(({ state }) => state === 'unknown_upstream'))!;
    expect(away).toMatchObject({ served: false, not_served_because: 'no_enabled_upstream' });
    const exported = JSON.parse(await (await operator.ask('GET', '/operator/catalog.json')).text()) as {
      models: { id: string; usd_per_million_tokens: Figures }[];
    };
    expect(exported.models.map(({ id }) => id)).toEqual(data.map(({ id }) => id));
    expect(exported.models.find(({ id }) => id === 'sandbox/echo')!.usd_per_million_tokens).toEqual(echo.price!.usd_per_million_tokens);
  });

  it('applies a price to no call before it is published, and to every call afterwards, exactly', async () => {
    const before = await model('sandbox/story');
    const oldPrice = before.price!;
    const written = await draft('sandbox/story', figures('0.123456789', '2.5', { reasoning: '3' }));
    expect(written).toMatchObject({ author: 'operator@example.com', effective_from: null, diff: { before: oldPrice } });
    expect(written.diff.warnings).toContainEqual({ kind: 'large_change', unit: 'output' });
    expect(written.diff.changes.find((change) => change.unit === 'output')).toMatchObject({
      before_usd: oldPrice.usd_per_million_tokens.output,
      after_usd: '2.5',
    });
    expect(await catalogPrice('sandbox/story')).toMatchObject({ output: oldPrice.usd_per_million_tokens.output });
    expect((await model('sandbox/story')).draft).toEqual(written);

    const published = await publish('sandbox/story', written);
    expect(published.usd_per_million_tokens).toEqual(figures('0.123456789', '2.5', { reasoning: '3' }));
    // The gateway is notified within one heartbeat.
    await eventually(async () => ((await catalogPrice('sandbox/story'))?.output === '2.5' ? true : undefined));
    expect(await catalogPrice('sandbox/story')).toEqual({ ...published.usd_per_million_tokens });
    expect(await page('sandbox/story')).toContain('$0.123456789<');
    expect((await model('sandbox/story')).prices.map(({ id, state }) => [id, state])).toEqual([
      [published.id, 'in_force'],
      [oldPrice.id, 'past'],
    ]);

    const answer = await chat(system, system.firstKey, { model: 'sandbox/story', max_tokens: 20 });
    const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    const nano = (tokens: number, perMtok: bigint): bigint => (BigInt(tokens) * perMtok + 999_999n) / 1_000_000n;
    const charge = nano(usage.prompt_tokens, 123_456_789n) + nano(usage.completion_tokens, 2_500_000_000n);
    const record = (await (await get(system, `/v1/usage/${answer.headers.get('x-request-id')}`, system.firstKey)).json()) as {
      charge_usd: string;
      price_version: string;
    };
    expect(record.charge_usd).toBe(answer.headers.get('x-tollgate-charge-usd'));
    expect(BigInt(Math.round(Number(record.charge_usd) * 1e9))).toBe(charge);
    expect(JSON.stringify(record)).toContain(published.id);
  });

  it('estimates what a call will cost, to the nano-dollar', async () => {
    const { diff, version } = await draft('sandbox/echo', figures('1.000000001', '3.3'));
    expect(diff.typical_calls[0]).toMatchObject({ name: 'chat', tokens: { input: 1000, output: 300 } });
    expect(diff.typical_calls[0]!.after_usd).toBe('0.001990001');
    const calculator = await page('sandbox/echo?input=1000&cached=0&output=300&calls=1');
    expect(calculator).toContain(`<output>$${diff.typical_calls[0]!.before_usd}</output>`);
    await operator.must('DELETE', `/operator/price-drafts/sandbox/echo?version=${version}`, undefined, 204);
    expect(await fault('GET', '/operator/price-drafts/sandbox/echo')).toEqual([404, 'not_found', null]);
  });

  it('rejects a publication of a draft that was not shown, and publishes once', async () => {
    const seen = await draft('sandbox/reason', figures('1', '2'));
    const other = await draft('sandbox/reason', figures('1', '3'), { replaces_version: seen.version });
    const before_price_id = seen.diff.before!.id;
    expect(await fault('POST', '/operator/prices/sandbox/reason', { draft_version: seen.version, before_price_id })).toEqual([
      409,
      'failed_precondition',
      'version',
    ]);
    expect(
      await fault('PUT', '/operator/price-drafts/sandbox/reason', {
        usd_per_million_tokens: figures('1', '4'),
        replaces_version: seen.version,
      }),
    ).toEqual([409, 'failed_precondition', 'version']);
    expect(await fault('POST', '/operator/prices/sandbox/reason', { draft_version: other.version, before_price_id: null })).toEqual([
      409,
      'failed_precondition',
      'before_price_id',
    ]);
    const [first, second] = [await publish('sandbox/reason', other), await publish('sandbox/reason', other)];
    expect(second).toEqual(first);
    expect((await model('sandbox/reason')).prices).toHaveLength(2);
  });

  it('names the field that is wrong', async () => {
    const usd = figures('1', '2');
    expect(await fault('PUT', '/operator/price-drafts/sandbox/echo', { usd_per_million_tokens: { ...usd, output: '-1' } })).toEqual([
      400,
      'invalid_request',
      'usd_per_million_tokens.output',
    ]);
    expect(
      await fault('PUT', '/operator/price-drafts/sandbox/echo', { usd_per_million_tokens: { ...usd, input: '100000.000000001' } }),
    ).toEqual([400, 'invalid_request', 'usd_per_million_tokens.input']);
    const unit_prices = [{ unit: 'web_search', usd: '9999999999', max_per_call: 1 }];
    expect(await fault('PUT', '/operator/price-drafts/sandbox/echo', { usd_per_million_tokens: usd, unit_prices })).toEqual([
      400,
      'invalid_request',
      'unit_prices[0].usd',
    ]);
    expect(
      await fault('PUT', '/operator/price-drafts/sandbox/echo', { usd_per_million_tokens: usd, effective_from: '2020-01-01T00:00:00Z' }),
    ).toEqual([400, 'invalid_request', 'effective_from']);
    expect(await fault('PUT', '/operator/price-drafts/no/such', { usd_per_million_tokens: usd })).toEqual([404, 'model_unknown', null]);
    expect(await fault('POST', '/operator/models', { model: { ...newModel, output_limit_tokens: 200_000 } })).toEqual([
      400,
      'invalid_request',
      'model.output_limit_tokens',
    ]);
    expect(
      await fault('POST', '/operator/models', { model: { ...newModel, targets: [{ upstream_id: '', upstream_model: 'x' }] } }),
    ).toEqual([400, 'invalid_request', 'model.targets[0].upstream_id']);
    expect(await fault('POST', '/operator/models', { model: { ...newModel, id: 'sandbox/echo' } })).toEqual([
      409,
      'already_exists',
      'model.id',
    ]);
    expect(await fault('POST', '/operator/models', { model: { ...newModel, aliases: ['sandbox/echo'] } })).toEqual([
      409,
      'already_exists',
      'model.aliases',
    ]);
    expect(await fault('PATCH', '/operator/models/sandbox/echo', { model: { tokenizer: 'magic' } })).toEqual([
      400,
      'invalid_request',
      'model.tokenizer',
    ]);
    expect(
      await fault('POST', '/operator/upstreams', { upstream: { id: 'Bad Id', api_format: 'messages', base_url: stub.baseUrl } }),
    ).toEqual([400, 'invalid_request', 'upstream.id']);
    expect(
      await fault('POST', '/operator/upstreams', {
        upstream: { id: 'bad', api_format: 'messages', base_url: 'http://169.254.169.254/v1' },
      }),
    ).toEqual([400, 'invalid_request', 'upstream.base_url']);
    const drain = { upstream_id: 'sandbox', upstream_model: 'sandbox/echo', mode: 'drain' };
    expect(await fault('POST', '/operator/targets/override', drain)).toEqual([404, 'not_found', null]);
  });

  it('keeps the changes of operators who change different fields of a model at once', async () => {
    const change = (fields: object) => operator.must('PATCH', '/operator/models/sandbox/echo', { model: fields }, 200);
    for (const [round, state] of ['deprecated', 'active', 'deprecated', 'active'].entries()) {
      const fields = { state, description: `In round ${round}.`, provider: `round-${round}`, display_name: `Round ${round}` };
      await Promise.all(Object.entries(fields).map(([name, value]) => change({ [name]: value })));
      expect(await model('sandbox/echo')).toMatchObject(fields);
    }
  });

  it('keeps the changes of operators who change different fields of an upstream at once', async () => {
    const upstream = { id: 'shared', api_format: 'messages', base_url: stub.baseUrl, allow_private_network: true };
    await operator.must('POST', '/operator/upstreams', { upstream }, 201);
    const change = (fields: object) => operator.must('PATCH', '/operator/upstreams/shared', { upstream: fields }, 200);
    for (const enabled of [false, true, false]) {
      const limits = { calls_max: enabled ? 3 : 4, total_timeout_ms: enabled ? 5000 : null };
      const fields = { enabled, whole_answers: !enabled, allowed_fields: enabled ? ['top_k'] : [] };
      await Promise.all([
        ...Object.entries(fields).map(([name, value]) => change({ [name]: value })),
        ...Object.entries(limits).map(([name, value]) => change({ limits: { [name]: value } })),
      ]);
      const { data } = await operator.get<{ data: { id: string }[] }>('/operator/upstreams');
      expect(data.find(({ id }) => id === 'shared')).toMatchObject({ ...fields, limits });
    }
    expect((await operator.ask('DELETE', '/operator/upstreams/shared')).status).toBe(204);
  });

  it('creates one of the upstreams, credentials and models that operators create with the same id at once', async () => {
    const create = async (path: string, bodies: readonly object[], method = 'POST', status = 201) => {
      const responses = await Promise.all(bodies.map((body) => operator.ask(method, path, body)));
      const answers = await Promise.all(responses.map(async (response) => ({ status: response.status, body: await response.json() })));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([status, ...bodies.slice(1).map(() => 409)]);
      for (const answer of answers) if (answer.status === 409) expect(answer.body).toMatchObject({ error: { code: 'already_exists' } });
      return answers.findIndex((answer) => answer.status === status);
    };
    const secrets = ['sk-of-the-first-one', 'sk-of-the-second-two', 'sk-of-the-third-six'];
    const upstream = { id: 'twice', api_format: 'messages', base_url: stub.baseUrl, allow_private_network: true };
    const upstreamIndex = await create(
      '/operator/upstreams',
      secrets.map((secret) => ({ upstream, secret })),
    );
    const credentials = secrets.map((secret) => ({ secret, create_only: true }));
    const credentialIndex = await create('/operator/upstreams/twice/credentials/second', credentials, 'PUT', 200);
    const { data } = await operator.get<{ data: { id: string }[] }>('/operator/upstreams');
    expect(data.find(({ id }) => id === 'twice')).toMatchObject({
      secret_last_four: secrets[upstreamIndex]!.slice(-4),
      credentials: [{ id: 'default' }, { id: 'second', secret_last_four: secrets[credentialIndex]!.slice(-4) }],
    });
    const names = ['First', 'Second', 'Third'];
    const targets = [{ upstream_id: 'twice', upstream_model: 'text' }];
    const modelIndex = await create(
      '/operator/models',
      names.map((display_name) => ({ model: { ...newModel, id: 'acme/twice', display_name, targets } })),
    );
    expect(await model('acme/twice')).toMatchObject({ display_name: names[modelIndex] });
    await operator.must('PATCH', '/operator/models/acme/twice', { model: { state: 'retired' } }, 200);
    expect((await operator.ask('DELETE', '/operator/upstreams/twice')).status).toBe(204);
  });

  it('adds an upstream and a model, charges a call of the model, and never returns a secret', async () => {
    const wrong = 'sk-wrong-0123456789abcd';
    const seen: string[] = [];
    const ask = async (method: string, path: string, body: unknown, status: number): Promise<Record<string, unknown>> => {
      const response = await operator.ask(method, path, body);
      const text = await response.text();
      seen.push(text);
      expect([path, response.status]).toEqual([path, status]);
      return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    };
    const upstream = {
      id: 'acme',
      api_format: 'chat_completions',
      base_url: stub.baseUrl,
      allow_private_network: true,
      whole_answers: true,
    };
    expect(await ask('POST', '/operator/upstreams', { upstream, secret: wrong }, 201)).toMatchObject({
      has_secret: true,
      secret_last_four: 'abcd',
      locked: null,
      enabled: true,
      whole_answers: true,
      last_test: null,
    });
    await ask('POST', '/operator/upstreams', { upstream, secret: wrong }, 409);
    const failed = await ask('POST', '/operator/upstreams/acme/test', {}, 200);
    stub.takeRefused();
    expect(failed).toMatchObject({
      ok: false,
      failed_step: 'authentication',
      steps: expect.arrayContaining([
        expect.objectContaining({ name: 'authentication', outcome: 'failed', what: expect.stringContaining('the secret is refused') }),
      ]),
    });
    // The result is kept until the upstream changes.
    const listed = async () =>
      (await ask('GET', '/operator/upstreams', undefined, 200)) as {
        data: {
          id: string;
          locked: string | null;
          managed_by: string | null;
          last_test: unknown;
          models: { id: string; trial_cost_usd: string }[];
        }[];
      };
    expect((await listed()).data.find(({ id }) => id === 'acme')!.last_test).toEqual(failed);
    // An edit without a secret keeps it, and with one replaces it.
    expect(await ask('PATCH', '/operator/upstreams/acme', { upstream: { enabled: false } }, 200)).toMatchObject({
      enabled: false,
      secret_last_four: 'abcd',
      last_test: failed,
    });
    expect(await ask('PATCH', '/operator/upstreams/acme', { upstream: { enabled: true }, secret: stubApiKey }, 200)).toMatchObject({
      secret_last_four: 'cret',
      last_test: null,
    });
    expect(await ask('POST', '/operator/upstreams/acme/test', { upstream_model: 'text' }, 200)).toMatchObject({
      ok: true,
      failed_step: null,
      upstream_model: 'text',
    });
    await ask('PATCH', '/operator/upstreams/acme', { upstream: { base_url: 'https://elsewhere.example.com/v1' } }, 400);

    expect(await ask('POST', '/operator/models', { model: newModel }, 201)).toMatchObject({
      pricing: 'unpriced',
      price: null,
      served: false,
      not_served_because: 'unpriced',
    });
    const unpriced = await eventually(async () => {
      const response = await chat(system, system.firstKey, { model: 'acme/fast' });
      const text = await response.text();
      return text.includes('no price') ? response.status : undefined;
    });
    expect(unpriced).toBeGreaterThanOrEqual(400);
    const written = await draft('acme/fast', figures('1', '5'));
    expect(written.diff).toMatchObject({ before: null, warnings: [{ kind: 'first_price' }] });
    await publish('acme/fast', written);
    const answer = await eventually(async () => {
      const response = await chat(system, system.firstKey, { model: 'acme/fast', max_tokens: 50 });
      return response.status === 200 ? response : undefined;
    });
    expect(answer.headers.get('x-tollgate-charge-usd')).toMatch(/^0\.0/);

    const { data } = await listed();
    expect(data.find(({ id }) => id === 'acme')!.models).toEqual([
      { id: 'acme/fast', upstream_model: 'text', retired: false, trial_cost_usd: '0.019506' },
    ]);
    // The capabilities that the catalog lists are tested too.
    expect(await ask('POST', '/operator/upstreams/acme/test', { upstream_model: 'text' }, 200)).toMatchObject({
      failed_step: 'tools',
      steps: expect.arrayContaining([
        expect.objectContaining({ name: 'tools', what: expect.stringContaining('did not call the tool') }),
        expect.objectContaining({ name: 'answers', outcome: 'ok' }),
      ]),
    });
    expect(data.map(({ id, locked, managed_by }) => [id, locked, managed_by])).toEqual([
      ['sandbox', 'built_in', null],
      ['openai', 'environment', 'OPENAI_API_KEY'],
      ['acme', null, null],
    ]);
    await ask('PATCH', '/operator/upstreams/openai', { upstream: { enabled: false } }, 409);
    await ask('DELETE', '/operator/upstreams/openai', undefined, 409);

    expect(String((await ask('DELETE', '/operator/upstreams/acme', undefined, 409))['error'] && seen.at(-1))).toContain('acme/fast');
    expect(await ask('PATCH', '/operator/models/acme/fast', { model: { state: 'retired' } }, 200)).toMatchObject({
      state: 'retired',
      served: false,
      not_served_because: 'retired',
    });
    await ask('DELETE', '/operator/upstreams/acme', undefined, 204);
    for (const text of [...seen, system.output()]) {
      expect(text).not.toContain(wrong);
      expect(text).not.toContain(stubApiKey);
    }
  });

  it('applies a scheduled price from its start on', async () => {
    // Later than a busy machine takes to publish the price and to look at it.
    const startMs = Date.now() + 6000;
    const effective_from = new Date(startMs).toISOString();
    const { price: now } = await model('sandbox/echo');
    const scheduled = await publish('sandbox/echo', await draft('sandbox/echo', figures('7', '9'), { effective_from }));
    expect(scheduled.effective_from).toBe(effective_from);
    expect(await model('sandbox/echo')).toMatchObject({
      price: now,
      next_price: scheduled,
      prices: [
        { id: scheduled.id, state: 'scheduled' },
        { id: now!.id, state: 'in_force', effective_until: effective_from },
      ],
    });
    expect(await page('sandbox/echo')).toContain('scheduled');
    const priceOf = async (): Promise<string> => {
      const answer = await chat(system, system.firstKey, { model: 'sandbox/echo', max_tokens: 5 });
      await answer.text();
      return (await get(system, `/v1/usage/${answer.headers.get('x-request-id')}`, system.firstKey)).text();
    };
    if (Date.now() < startMs - 500) expect(await priceOf()).toContain(now!.id);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, startMs - Date.now()) + 50));
    expect(await priceOf()).toContain(scheduled.id);
    expect((await catalogPrice('sandbox/echo'))?.input).toBe('7');
  });

  it('charges a call in flight at the price at which it was admitted', async () => {
    // Longer than a busy machine takes to publish another price.
    stub.script('slow', { blocks: [{ type: 'text', text: 'At last.' }], fault: { kind: 'slow-headers', delayMs: 5000 } });
    await operator.must(
      'POST',
      '/operator/models',
      { model: { ...newModel, id: 'acme/slow', targets: [{ upstream_id: 'openai', upstream_model: 'slow' }] } },
      201,
    );
    const admitted = await publish('acme/slow', await draft('acme/slow', figures('1', '5')));
    await eventually(async () => ((await catalogPrice('acme/slow'))?.output === '5' ? true : undefined));
    const asked = stub.requests.length;
    const call = chat(system, system.firstKey, { model: 'acme/slow', max_tokens: 50 });
    await eventually(() => (stub.requests.length > asked ? true : undefined));
    await publish('acme/slow', await draft('acme/slow', figures('50', '60')));
    await eventually(async () => ((await catalogPrice('acme/slow'))?.output === '60' ? true : undefined));
    // A promise that is resolved already would win against a call that has ended, too.
    const isUnderWay = await Promise.race([call.then(() => false), new Promise((resolve) => setTimeout(() => resolve(true)))]);
    expect(isUnderWay).toBe(true);
    const answer = await call;
    expect(answer.status).toBe(200);
    expect(await (await get(system, `/v1/usage/${answer.headers.get('x-request-id')}`, system.firstKey)).text()).toContain(admitted.id);
  });

  it('records changes in the audit log, with the values before and after, and without secrets', async () => {
    const data = await eventually(async () => {
      const { data: events } = await operator.get<{
        data: { action: string; target_id: string; actor: string; detail: Record<string, unknown> }[];
      }>('/operator/audit?limit=200');
      return events.some(({ action }) => action === 'upstream.delete') ? events : undefined;
    });
    const of = (action: string, target: string) => data.filter((entry) => entry.action === action && entry.target_id === target);
    expect(of('price.publish', 'sandbox/story')[0]).toMatchObject({
      actor: 'operator@example.com',
      detail: { usd_per_million_tokens: { output: '2.5' } },
    });
    expect(of('model.retire', 'acme/fast')[0]).toMatchObject({ detail: { before: { state: 'active' }, after: { state: 'retired' } } });
    expect(of('upstream.update', 'acme').map(({ detail }) => detail)).toMatchObject([
      { after: { enabled: true }, secret: 'set' },
      { after: { enabled: false } },
    ]);
    for (const action of ['model.create', 'price.draft', 'price.discard', 'upstream.create', 'upstream.test', 'upstream.delete'])
      expect(data.map((entry) => entry.action)).toContain(action);
    for (const secret of [stubApiKey, 'sk-wrong']) expect(JSON.stringify(data)).not.toContain(secret);
  });

  it('offers all of it in the command too', async () => {
    const id = 'sandbox/reason';
    const drafted = await system.json<{
      version: number;
      replaces: string;
      output_usd_per_mtok: string;
      input_usd_per_mtok: string;
      typical_calls: { after_usd: string }[];
    }>('price', 'draft', id, '--output', '6', '--author', 'ada');
    // Prices that are not given are taken from the price in force.
    expect(drafted).toMatchObject({ input_usd_per_mtok: '1', output_usd_per_mtok: '6', replaces: (await model(id)).price!.id });
    expect(await operator.get(`/operator/price-drafts/${id}`)).toMatchObject({
      version: drafted.version,
      author: 'ada',
      diff: { typical_calls: [{ after_usd: drafted.typical_calls[0]!.after_usd }, {}] },
    });
    const diff = await system.cli('price', 'diff', id);
    expect(diff).toMatch(/output +\$3 +\$6 +\+100 %/);
    expect(diff).toContain('output changes by more than half');
    expect(diff).toContain(`tollgate price publish ${id} --draft ${drafted.version} --replaces ${drafted.replaces}`);
    expect(await system.cli('price', 'drafts')).toContain(id);
    expect(await system.tryCli('price', 'publish', id, '--draft', String(drafted.version), '--replaces', 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has changed since you compared'),
    });
    const [first, again] = [
      await system.json('price', 'publish', id, '--draft', String(drafted.version)),
      await system.json('price', 'publish', id, '--draft', String(drafted.version)),
    ];
    expect(again).toEqual(first);
    await eventually(async () => ((await model(id)).price!.usd_per_million_tokens.output === '6' ? true : undefined));
    expect(await system.tryCli('price', 'publish', id, '--input', '1')).toMatchObject({ code: 2 });

    await system.cli('price', 'draft', id, '--input', '2', '--from', '30d');
    await system.cli('price', 'discard', id);
    expect(await system.tryCli('price', 'diff', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('no price draft') });

    const exported = JSON.parse(await system.cli('model', 'export')) as {
      models: { id: string; description: string; usd_per_million_tokens: Figures }[];
    };
    const fromConsole = JSON.parse(await (await operator.ask('GET', '/operator/catalog.json')).text()) as typeof exported;
    expect(fromConsole).toEqual(exported);
    const echo = exported.models.find((each) => each.id === 'sandbox/echo')!;
    echo.description = 'Another one.';
    echo.usd_per_million_tokens.output = '11';
    const file = join(system.dataDir, 'catalog.json');
    writeFileSync(file, JSON.stringify(exported));
    const rows = async (...options: string[]) =>
      (await system.cli('model', 'import', file, '--json', ...options))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { id: string; fields: string; price: string });
    const touched = (all: { id: string; fields: string; price: string }[]) =>
      all.filter(({ fields, price }) => fields !== 'same' || price === 'drafted');
    const expected = [{ id: 'sandbox/echo', fields: 'changed', price: 'drafted' }];
    expect(touched(await rows('--dry-run'))).toEqual(expected);
    expect((await model('sandbox/echo')).draft).toBeNull();
    expect(touched(await rows())).toEqual(expected);
    expect(await model('sandbox/echo')).toMatchObject({
      description: 'Another one.',
      price: { usd_per_million_tokens: { output: '9' } },
      draft: { usd_per_million_tokens: { output: '11' } },
    });

    await system.cli(
      'upstream',
      'add',
      'used',
      '--format',
      'messages',
      '--base-url',
      stub.baseUrl,
      '--allow-private-network',
      '--no-secret',
    );
    await operator.must(
      'PATCH',
      '/operator/models/sandbox/echo',
      {
        model: {
          targets: [
            { upstream_id: 'sandbox', upstream_model: 'echo' },
            { upstream_id: 'used', upstream_model: 'text' },
          ],
        },
      },
      200,
    );
    expect(await system.tryCli('upstream', 'remove', 'used')).toMatchObject({ code: 1, stderr: expect.stringContaining('sandbox/echo') });
    await system.cli('upstream', 'remove', 'used', '--force');
    expect(await system.cli('upstream', 'list')).toMatch(/sandbox .*built in[^]*openai .*OPENAI_API_KEY/);
  });
});
