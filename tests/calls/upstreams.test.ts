// Upstreams of vendors, simulated by a stub that is as strict as they are, with callers and upstreams of both formats.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { ask, callers } from '../clients/callers.js';
import { settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream } from '../support/stub-models.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

const messages = [{ role: 'user' as const, content: 'Hello there' }];

describe.each(modes)('upstreams, %s', (mode) => {
  let system: System;
  let stub: StubUpstream;
  let openai: OpenAI;

  beforeAll(async () => {
    stub = await startStubUpstream();
    // One upstream is configured by environment variables, as with a vendor's key; the other with the operator's command.
    system = await startSystem(mode, { OPENAI_API_KEY: stubApiKey, OPENAI_BASE_URL: stub.baseUrl });
    await addUpstream(system, 'claude', 'messages', stub.baseUrl, stubApiKey);
    await addModel(system, 'cc/text', 'openai', 'text');
    await addModel(system, 'm/text', 'claude', 'text');
    openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: system.firstKey, maxRetries: 0 });
    await eventually(async () => ((await openai.models.list()).data.some((model) => model.id === 'm/text') ? true : undefined));
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
      expect(code).toBe(2);
      expect(stderr).not.toBe('');
    },
  );
});
