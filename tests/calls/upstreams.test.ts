// Upstreams of vendors, simulated by a stub that is as strict as they are, with callers and upstreams of both formats.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { ask, callers } from '../clients/callers.js';
import { chat, get, settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream } from '../support/stub-models.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

const messages = [{ role: 'user' as const, content: 'Hello there' }];

describe.each(modes)('upstreams, %s', (mode) => {
  let system: System;
  let stub: StubUpstream;
  let openai: OpenAI;
  let anthropic: Anthropic;

  beforeAll(async () => {
    stub = await startStubUpstream();
    // One upstream is configured by environment variables, as with a vendor's key; the other with the operator's command.
    system = await startSystem(mode, { OPENAI_API_KEY: stubApiKey, OPENAI_BASE_URL: stub.baseUrl });
    await addUpstream(system, 'claude', 'messages', stub.baseUrl, stubApiKey);
    for (const model of ['text', 'tool', 'reasoning', 'cached-usage', 'no-usage', 'status-401', 'status-400', 'cut', 'lies']) {
      await addModel(system, `cc/${model}`, 'openai', model);
      await addModel(system, `m/${model}`, 'claude', model);
    }
    openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: system.firstKey, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: system.baseUrl, apiKey: system.firstKey, maxRetries: 0 });
    await eventually(async () => ((await openai.models.list()).data.some((model) => model.id === 'm/lies') ? true : undefined));
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  it.each(['cc', 'm'])('work with every library, whole and streamed, over a %s upstream', async (kind) => {
    for (const streamed of [false, true]) {
      const question = { baseUrl: system.baseUrl, apiKey: system.firstKey, model: `${kind}/text`, streamed, maxRetries: 0 };
      const answers = await Promise.all(callers.map((caller) => ask(caller, question)));
      expect(answers.map(({ text, error }) => error ?? text)).toEqual(callers.map(() => 'Hello from the stub upstream.'));
    }
  });

  it('can be added with the models that they list, at the operator’s prices', async () => {
    const importing = [
      'model',
      'import',
      '--from-upstream',
      'claude',
      '--context',
      '8192',
      '--models',
      'text,refusal',
      '--prefix',
      'listed/',
    ];
    const { code, stderr } = await system.tryCli(...importing);
    expect([code, stderr]).toEqual([2, expect.stringContaining('The prices of input and output are required')]);
    const printed = await system.cli(...importing, '--input', '3', '--output', '15', '--json');
    expect(
      printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { id: 'm/text', fields: 'kept', price: 'none' },
      { id: 'listed/refusal', fields: 'new', price: 'published' },
    ]);
    const listed = await eventually(async () => openai.models.retrieve('listed/refusal').catch(() => undefined));
    expect(listed).toMatchObject({ max_input_tokens: 8192, usd_per_million_tokens: { input: '3', output: '15' } });
    expect((await openai.chat.completions.create({ model: 'listed/refusal', messages })).model).toBe('listed/refusal');
  });

  it.each(['cc', 'm'])('call tools over a %s upstream', async (kind) => {
    const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } };
    const completion = await openai.chat.completions
      .stream({ model: `${kind}/tool`, messages, tools: [{ type: 'function', function: { name: 'get_weather', parameters } }] })
      .finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }] },
    });
    const message = await anthropic.messages
      .stream({ model: `${kind}/tool`, max_tokens: 100, messages, tools: [{ name: 'get_weather', input_schema: parameters }] })
      .finalMessage();
    expect(message).toMatchObject({ stop_reason: 'tool_use' });
    expect(message.content.at(-1)).toMatchObject({ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } });
  });

  it.each(['cc', 'm'])('are charged for each class of tokens that a %s upstream reports', async (kind) => {
    const { response } = await openai.chat.completions.create({ model: `${kind}/cached-usage`, messages }).withResponse();
    const usage = (await (await get(system, `/v1/usage/${response.headers.get('x-request-id')}`, system.firstKey)).json()) as {
      tokens: Record<string, number>;
      charge_usd: string;
      usage_source: string;
    };
    expect(usage.usage_source).toBe('reported');
    expect(usage.tokens).toMatchObject({ input: 3, cache_read: 4, output: 5 });
    // Prices above: $1, $0.10, $1.25 and $5 per million.
    const write5m = usage.tokens['cache_write_5m']!;
    const nano = 3 * 1000 + 4 * 100 + write5m * 1250 + 5 * 5000;
    expect(write5m).toBe(2);
    expect(usage.charge_usd).toBe((nano / 1e9).toFixed(9).replace(/0+$/, ''));
  });

  it.each(['cc', 'm'])(
    'are charged by our own count, marked as estimated, when a %s upstream reports no or implausible usage',
    async (kind) => {
      stub.script('lies', { blocks: [{ type: 'text', text: 'short' }], usage: { input: -5, output: 99_999_999 } });
      for (const model of [`${kind}/no-usage`, `${kind}/lies`]) {
        const { response } = await openai.chat.completions.create({ model, messages, max_tokens: 50 }).withResponse();
        const usage = (await (await get(system, `/v1/usage/${response.headers.get('x-request-id')}`, system.firstKey)).json()) as {
          tokens: Record<string, number>;
          charge_usd: string;
          usage_source: string;
          quarantined: boolean;
        };
        expect(usage.usage_source).toBe('estimated');
        // A messages upstream cannot omit usage; it sends zeros, which are implausible.
        expect(usage.quarantined).toBe(model !== 'cc/no-usage');
        expect(usage.tokens['input']).toBeGreaterThan(0);
        expect(usage.tokens['output']).toBeGreaterThan(0);
        expect(usage.tokens['output']).toBeLessThanOrEqual(50);
      }
    },
  );

  it.each(['cc', 'm'])('that reject our credentials do not show that to callers, over a %s upstream', async (kind) => {
    const response = await chat(system, system.firstKey, { model: `${kind}/status-401` });
    expect([502, 503]).toContain(response.status);
    const text = await response.text();
    expect(text).not.toContain('API key');
    expect(text).not.toContain('sk-stub');
  });

  it.each(['cc', 'm'])('that reject the request have their error relayed, over a %s upstream', async (kind) => {
    const response = await chat(system, system.firstKey, { model: `${kind}/status-400` });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('temperature: this model refuses it');
  });

  it.each(['cc', 'm'])('that break off cause an error, never a clean end, over a %s upstream', async (kind) => {
    const text = await (await chat(system, system.firstKey, { model: `${kind}/cut`, stream: true })).text();
    expect(text).not.toContain('[DONE]');
    expect(text).toContain('"error"');
  });

  it('receive the cap that the hold covers, and no header or field with the caller’s key', async () => {
    await openai.chat.completions.create({ model: 'cc/text', messages, max_completion_tokens: 77 });
    const request = stub.requests.at(-1)!;
    expect([request.body['max_tokens'], request.body['max_completion_tokens']]).toContain(77);
    expect(JSON.stringify([request.headers, request.body])).not.toContain(system.firstKey.slice(6, 30));
  });

  it('can be tested step by step by the operator, who can read the result later too', async () => {
    const stepsOf = (text: string): (boolean | null)[] =>
      (JSON.parse(text) as { steps: { ok: boolean | null }[] }).steps.map(({ ok }) => ok);
    const text = { blocks: [{ type: 'text', text: 'Hi' } as const] };
    const toolCall = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' } as const;
    stub.script('probed', text, { blocks: [toolCall] }, text);
    await addModel(system, 'cc/probed', 'openai', 'probed', { capabilities: ['tools'] });
    const withoutProbes = [true, null, true, null, true, true, true];
    // The capabilities that the catalog lists are tested too: the model calls tools.
    const ofOpenai = stepsOf(await system.cli('upstream', 'test', 'openai', '--model', 'probed', '--json'));
    expect(ofOpenai).toEqual([...withoutProbes, true, true]);
    expect(stepsOf(await system.cli('upstream', 'test', 'claude', '--model', 'probed', '--json'))).toEqual(withoutProbes);
    const lacking = await system.tryCli('upstream', 'test', 'openai', '--model', 'probed');
    expect([lacking.code, lacking.stdout]).toEqual([1, expect.stringMatching(/tools +failed +\d+ +the model did not call the tool/)]);
    expect((await system.tryCli('upstream', 'test', 'openai')).code).toBe(0);
    expect(await system.cli('upstream', 'test', 'sandbox', '--model', 'echo')).toMatch(/call +ok +\d+ +first token after/);

    await addUpstream(system, 'wrong', 'messages', stub.baseUrl, 'sk-wrong-0123456789');
    const { code, stdout, stderr } = await system.tryCli('upstream', 'test', 'wrong', '--model', 'text');
    stub.takeRefused();
    expect(code).toBe(1);
    expect(stdout).toMatch(/authentication +failed +\d+ +the secret is refused: status 401 .*Incorrect API key provided: \[redacted\]/);
    expect(stdout).toMatch(/models +not run\ncall +not run\n/);
    expect(stderr).toContain('"authentication"');
    expect(stdout + stderr).not.toContain('sk-wrong');

    const listed = await system.cli('upstream', 'list');
    expect(listed).toMatch(/openai .* ok, \d{4}-/);
    expect(listed).toMatch(/wrong .* failed: authentication, \d{4}-/);
    expect(await system.cli('upstream', 'show', 'wrong')).toMatch(/authentication +failed/);
    await system.cli('upstream', 'remove', 'wrong');
  });

  it('keep their secrets out of every output and of the data folder', async () => {
    expect(await system.cli('upstream', 'list', '--json')).not.toContain(stubApiKey);
    expect(system.output()).not.toContain(stubApiKey);
  });

  it('leave correct books', async () => {
    const [line] = (await system.cli('account', 'list', '--json')).trim().split('\n');
    const { rows, balance } = await settled(system, (JSON.parse(line!) as { id: string }).id);
    expect(BigInt(balance.spent_nano_usd)).toBe(rows.reduce((sum, row) => sum + BigInt(row.charge_nano_usd), 0n));
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true });
  });
});

describe('an upstream’s address', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem('single');
  });

  afterAll(() => system?.stop());

  it.each(['http://169.254.169.254/v1', 'ftp://example.com/v1', 'https://user:pass@example.com/v1', 'https://example.com/v1?x=1'])(
    '%s is refused',
    async (baseUrl) => {
      const { code, stderr } = await system.tryCli(
        'upstream',
        'add',
        'bad',
        '--format',
        'chat-completions',
        '--base-url',
        baseUrl,
        '--no-secret',
      );
      expect(code).toBe(1);
      expect(stderr).not.toBe('');
    },
  );
});
