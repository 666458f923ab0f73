// The official libraries against the sandbox models of a fresh Tollgate, in both modes: what keys may do, and why they are refused.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createKey, settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { anthropicLibraries, openaiLibraries } from './libraries.js';

const messages = [{ role: 'user' as const, content: 'Hello there' }];

/** What a refused call looks like to its caller. */
async function refusal(
  call: Promise<unknown>,
): Promise<{ status: number | undefined; code: unknown; type: unknown; message: string; requestId: unknown }> {
  try {
    await call;
  } catch (error) {
    const failure = error as InstanceType<typeof OpenAI.APIError> & {
      error?: { error?: { type?: string; code?: string }; type?: string; code?: string };
    };
    const inner = failure.error?.error ?? failure.error;
    return { status: failure.status, code: inner?.code, type: inner?.type, message: failure.message, requestId: failure.requestID };
  }
  throw new Error('The call was not refused.');
}

describe.each(modes)('the official clients, %s', (mode) => {
  let system: System;
  let openai: OpenAI;
  let anthropic: Anthropic;
  const clients = (apiKey: string): [OpenAI, Anthropic] => [
    new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey, maxRetries: 0 }),
    new Anthropic({ baseURL: system.baseUrl, apiKey, maxRetries: 0 }),
  ];

  beforeAll(async () => {
    system = await startSystem(mode);
    [openai, anthropic] = clients(system.firstKey);
  });

  afterAll(() => system?.stop());

  it('read whole answers', async () => {
    const completion = await openai.chat.completions.create({ model: 'sandbox/echo', messages });
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello there' } });
    expect(completion.usage!.total_tokens).toBe(completion.usage!.prompt_tokens + completion.usage!.completion_tokens);
    expect(completion._request_id).toMatch(/^req_[0-9a-f]{32}$/);

    const message = await anthropic.messages.create({ model: 'sandbox/echo', max_tokens: 64, messages });
    expect(message.content[0]).toMatchObject({ type: 'text', text: 'Hello there' });
    expect(message).toMatchObject({
      role: 'assistant',
      stop_reason: 'end_turn',
      usage: { input_tokens: completion.usage!.prompt_tokens, output_tokens: completion.usage!.completion_tokens },
    });
    expect(message._request_id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it.each(openaiLibraries)('continue, retrieve and delete stored responses: $name', async ({ OpenAI: Library }) => {
    const { responses }: OpenAI = new Library({ baseURL: `${system.baseUrl}/v1`, apiKey: system.firstKey, maxRetries: 0 });
    const model = 'sandbox/echo';
    const first = await responses.stream({ model, input: 'Hello there', instructions: 'Be brief.' }).finalResponse();
    const body = { model, input: 'And now?', previous_response_id: first.id };
    const { data: second, response } = await responses.create(body).withResponse();
    expect(second).toMatchObject({ store: true, output_text: 'And now?', previous_response_id: first.id, instructions: null });
    expect(await responses.inputTokens.count(body)).toMatchObject({ input_tokens: second.usage!.input_tokens });

    // The same conversation, sent whole.
    const input = [{ role: 'user' as const, content: 'Hello there' }, ...first.output, { role: 'user' as const, content: 'And now?' }];
    const whole = await responses.create({ model, input: input as OpenAI.Responses.ResponseInput, store: false }).withResponse();
    expect(whole.data).toMatchObject({ store: false, usage: second.usage });
    expect(whole.response.headers.get('x-tollgate-charge-usd')).toBe(response.headers.get('x-tollgate-charge-usd'));
    const referring = [input[0]!, { type: 'item_reference' as const, id: first.output[0]!.id! }, input.at(-1)!];
    const referred = await responses.create({ model, input: referring as OpenAI.Responses.ResponseInput });
    expect(referred.usage).toEqual(second.usage);

    expect(await responses.retrieve(second.id)).toEqual(second);
    expect(await Array.fromAsync(responses.inputItems.list(second.id, { order: 'asc', limit: 2 }))).toMatchObject([
      { role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] },
      { id: first.output[0]!.id, role: 'assistant', content: [{ type: 'output_text', text: 'Hello there' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'And now?' }] },
    ]);

    const { secret } = await createKey(system, `not the key of ${first.id}`);
    const { responses: theirs }: OpenAI = new Library({ baseURL: `${system.baseUrl}/v1`, apiKey: secret, maxRetries: 0 });
    expect(await refusal(theirs.retrieve(second.id))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await refusal(theirs.create(body))).toMatchObject({ status: 400, code: 'previous_response_not_found' });
    expect(await refusal(theirs.create({ model, input: referring as OpenAI.Responses.ResponseInput }))).toMatchObject({ status: 404 });

    await responses.delete(first.id);
    expect(await refusal(responses.retrieve(first.id))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await refusal(responses.create(body))).toMatchObject({ status: 400, code: 'previous_response_not_found' });
    expect(await refusal(responses.create({ ...body, previous_response_id: second.id }))).toMatchObject({
      code: 'previous_response_not_found',
      message: expect.stringContaining(first.id),
    });
    expect(await refusal(responses.retrieve(whole.data.id))).toMatchObject({ status: 404 });
  });

  it('read streams', async () => {
    const stream = await openai.chat.completions.create({
      model: 'sandbox/echo',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe('Hello there');
    expect(usage!.completion_tokens).toBeGreaterThan(0);

    const helped = openai.chat.completions.stream({ model: 'sandbox/story', messages, max_tokens: 50 });
    const story = await helped.finalChatCompletion();
    expect(story.choices[0]!.finish_reason).toBe('length');

    const events = anthropic.messages.stream({ model: 'sandbox/echo', max_tokens: 64, messages });
    let streamed = '';
    events.on('text', (delta) => (streamed += delta));
    const final = await events.finalMessage();
    expect(streamed).toBe('Hello there');
    expect(final.usage.output_tokens).toBeGreaterThan(0);
  });

  it('hold a conversation with instructions', async () => {
    const turns = [
      { role: 'user' as const, content: 'first' },
      { role: 'assistant' as const, content: 'answer' },
      { role: 'user' as const, content: 'second' },
    ];
    const completion = await openai.chat.completions.create({
      model: 'sandbox/echo',
      messages: [{ role: 'system', content: 'Be brief.' }, ...turns],
    });
    expect(completion.choices[0]!.message.content).toBe('second');
    const message = await anthropic.messages.create({ model: 'sandbox/echo', max_tokens: 64, system: 'Be brief.', messages: turns });
    expect(message.content[0]).toMatchObject({ text: 'second' });
    // Everything that was sent is read and charged, not only the last turn.
    expect(message.usage.input_tokens).toBe(completion.usage!.prompt_tokens);
  });

  it('see reasoning before the answer', async () => {
    const message = await anthropic.messages.create({ model: 'sandbox/reason', max_tokens: 300, messages });
    expect(message.content.map((block) => block.type)).toEqual(['thinking', 'text']);
    const completion = await openai.chat.completions.create({ model: 'sandbox/reason', messages });
    expect(completion.choices[0]!.message).toHaveProperty('reasoning_content');
    expect(completion.usage!.completion_tokens_details!.reasoning_tokens).toBeGreaterThan(0);
  });

  it('call tools and send back their results', async () => {
    const completion = await openai.chat.completions.create({
      model: 'sandbox/tool',
      messages,
      tools: [
        { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: { topic: { type: 'string' } } } } },
      ],
    });
    const choice = completion.choices[0]!;
    expect(choice.finish_reason).toBe('tool_calls');
    const call = choice.message.tool_calls![0]!;
    expect(call).toMatchObject({ type: 'function', function: { name: 'look_up' } });
    if (call.type !== 'function') throw new Error('not a function');
    expect(() => JSON.parse(call.function.arguments)).not.toThrow();
    const after = await openai.chat.completions.create({
      model: 'sandbox/tool',
      messages: [...messages, choice.message, { role: 'tool', tool_call_id: call.id, content: 'It is sunny.' }],
      tools: [{ type: 'function', function: { name: 'look_up' } }],
    });
    expect(after.choices[0]!.message.content).toBeTruthy();

    const message = await anthropic.messages.create({
      model: 'sandbox/tool',
      max_tokens: 200,
      messages,
      tools: [{ name: 'look_up', input_schema: { type: 'object', properties: { topic: { type: 'string' } } } }],
    });
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content.at(-1)).toMatchObject({ type: 'tool_use', name: 'look_up' });
  });

  it('embed many texts, with the same vector for the same text', async () => {
    const input = Array.from({ length: 1000 }, (_, index) => `Text ${index % 500}`);
    // More bytes than one message between processes may have.
    const { data, usage } = await openai.embeddings.create({ model: 'sandbox/embed', input, dimensions: 1024 });
    expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index));
    expect(data[3]!.embedding).toEqual(data[503]!.embedding);
    expect(data[3]!.embedding).not.toEqual(data[4]!.embedding);
    expect(Math.hypot(...data[3]!.embedding)).toBeCloseTo(1, 5);
    expect(usage.prompt_tokens).toBe(2000);
  });

  it('count tokens as they are charged', async () => {
    const counted = await anthropic.messages.countTokens({ model: 'sandbox/echo', system: 'Be brief.', messages });
    const message = await anthropic.messages.create({ model: 'sandbox/echo', max_tokens: 64, system: 'Be brief.', messages });
    expect(counted.input_tokens).toBe(message.usage.input_tokens);
    const { input_tokens } = await openai.responses.inputTokens.count({
      model: 'sandbox/echo',
      instructions: 'Be brief.',
      input: messages,
    });
    expect(input_tokens).toBe(message.usage.input_tokens);
  });

  it('list the models of the key', async () => {
    const ids = await Array.fromAsync(openai.models.list(), ({ id }) => id);
    expect(ids).toContain('sandbox/echo');
    // Models of vendors without an account here cannot be called and are not listed.
    expect(ids.every((id) => id.startsWith('sandbox/'))).toBe(true);
    for (const { OpenAI: Library } of openaiLibraries) {
      const client = new Library({ baseURL: `${system.baseUrl}/v1`, apiKey: system.firstKey, maxRetries: 0 });
      expect((await client.models.list()).data.map(({ id }) => id)).toEqual(ids);
      expect(await client.models.retrieve('sandbox/echo')).toMatchObject({
        id: 'sandbox/echo',
        object: 'model',
        owned_by: expect.any(String),
      });
    }
    for (const { Anthropic: Library } of anthropicLibraries) {
      const client = new Library({ baseURL: system.baseUrl, apiKey: system.firstKey, maxRetries: 0 });
      // Three at a time, page after page.
      const seen = await Array.fromAsync(client.models.list({ limit: 3 }), ({ id }) => id);
      expect(seen.sort()).toEqual([...ids].sort());
      expect(await client.models.retrieve('sandbox/echo')).toMatchObject({
        id: 'sandbox/echo',
        type: 'model',
        display_name: expect.any(String),
      });
    }

    const { secret } = await createKey(system, 'two models', '--models', 'sandbox/echo,sandbox/story');
    const [restricted] = clients(secret);
    const visible = await Array.fromAsync(restricted.models.list(), ({ id }) => id);
    expect(visible.sort()).toEqual(['sandbox/echo', 'sandbox/story']);
    expect(await refusal(restricted.models.retrieve('sandbox/tool'))).toMatchObject({ status: 404 });
  });

  describe('get the reason of a refusal', () => {
    const wellFormedButUnknown = 'sk-tg-003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf3dYKoV';

    async function bothRefusals(apiKey: string, fields: { model?: string; max_tokens?: number } = {}) {
      const [a, b] = clients(apiKey);
      const body = { model: 'sandbox/echo', max_tokens: 20, messages, ...fields };
      return [await refusal(a.chat.completions.create(body)), await refusal(b.messages.create(body))] as const;
    }

    it.each([
      ['a key that is none', 'hello'],
      ['an unknown key', wellFormedButUnknown],
    ])('%s', async (_name, apiKey) => {
      const [chat, message] = await bothRefusals(apiKey);
      expect(chat).toMatchObject({ status: 401, code: 'invalid_api_key' });
      expect(message).toMatchObject({ status: 401, type: 'authentication_error' });
      expect(message.requestId).toMatch(/^req_/);
    });

    it('an unknown model', async () => {
      const [chat, message] = await bothRefusals(system.firstKey, { model: 'no/such-model' });
      expect(chat).toMatchObject({ status: 404, code: 'model_not_found' });
      expect(chat.message).toContain('no/such-model');
      expect(message).toMatchObject({ status: 404, type: 'not_found_error' });
    });

    it('a part of the vendor API that is not offered, with an alternative', async () => {
      const chat = await refusal(openai.moderations.create({ input: 'Hello' }));
      expect(chat).toMatchObject({ status: 404, code: 'not_offered' });
      expect(chat.message).toContain('Use POST /v1/chat/completions');
      const message = await refusal(anthropic.messages.batches.list());
      expect(message).toMatchObject({ status: 404, type: 'not_found_error', code: 'not_offered' });
      expect(message.message).toContain('POST /v1/messages');
    });

    it('a model whose upstream is not set up, which libraries must not retry', async () => {
      const { data } = (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as { data: { id: string; available: boolean }[] };
      const model = data.find(({ available }) => !available)!.id;
      const error: unknown = await openai.chat.completions.create({ model, messages }).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ status: 503, code: 'model_unavailable' });
      expect((error as InstanceType<typeof OpenAI.APIError>).headers!.get('x-should-retry')).toBe('false');
    });

    it('a model that the key may not use', async () => {
      const { secret } = await createKey(system, 'echo only', '--models', 'sandbox/echo');
      const [chat, message] = await bothRefusals(secret, { model: 'sandbox/story' });
      expect(chat.status).toBe(403);
      expect(message).toMatchObject({ status: 403, type: 'permission_error' });
    });

    it('a paused model, with the end of the pause, in each format, free of charge', async () => {
      const { id: account } = await system.json<{ id: string }>('account', 'create', 'patient');
      await system.cli('balance', 'deposit', '5', '--account', account);
      const { id: key, secret } = await createKey(system, 'patient', '--account', account);
      await system.cli('model', 'pause', 'sandbox/story', '--until', '1h', '--reason', 'Maintenance');
      try {
        const story = await eventually(async () => {
          const listed = (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as { data: { id: string; paused?: object }[] };
          return listed.data.find(({ id, paused }) => id === 'sandbox/story' && paused !== undefined);
        });
        expect(story).toMatchObject({ available: false, paused: { until: expect.any(String), reason: 'Maintenance' } });
        const [chat, message] = await bothRefusals(secret, { model: 'sandbox/story' });
        expect(chat).toMatchObject({
          status: 503,
          code: 'model_paused',
          message: expect.stringMatching(/paused until 20.*\(Maintenance\)/),
        });
        expect(message).toMatchObject({ status: 529, type: 'overloaded_error' });
        const response = await fetch(`${system.baseUrl}/v1/responses`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'sandbox/story', input: 'Hello' }),
        });
        // The libraries honour at most a minute; the error says until when.
        expect([response.status, response.headers.get('retry-after')]).toEqual([503, '60']);
        const page = await (await fetch(`${system.baseUrl}/models/sandbox/story`, { headers: { accept: 'text/html' } })).text();
        expect(page).toMatch(/Paused until 20[^<]*: Maintenance/);
        expect(await system.json('balance', 'show', '--account', account)).toMatchObject({ available_usd: '5', held_usd: '0' });
        await eventually(async () => ((await system.cli('key', 'show', key)).includes('model_paused') ? true : undefined));
      } finally {
        await system.cli('model', 'resume', 'sandbox/story');
      }
      const [served] = clients(secret);
      await eventually(async () => served.chat.completions.create({ model: 'sandbox/story', messages }).catch(() => undefined));
    });

    it('an empty balance', async () => {
      const { id } = await system.json<{ id: string }>('account', 'create', 'penniless');
      const { secret } = await createKey(system, 'penniless', '--account', id);
      const [chat, message] = await bothRefusals(secret);
      expect(chat).toMatchObject({ status: 402, code: 'balance_empty' });
      expect(message).toMatchObject({ status: 402, type: 'billing_error' });
    });

    it('a key that has reached its limit', async () => {
      const { secret } = await createKey(system, 'tiny', '--account', (await firstAccount()).id, '--limit', '0.000000001');
      const [chat, message] = await bothRefusals(secret);
      expect(chat).toMatchObject({ status: 402, code: 'key_limit_reached' });
      expect(message).toMatchObject({ status: 402, type: 'billing_error' });
      expect(message.message).toContain('limit');
    });

    it('a key that has expired', async () => {
      const { secret } = await createKey(
        system,
        'short-lived',
        '--account',
        (await firstAccount()).id,
        '--expires',
        new Date(Date.now() + 3000).toISOString(),
      );
      const [a] = clients(secret);
      await a.models.list();
      const chat = await eventually(async () => refusal(a.chat.completions.create({ model: 'sandbox/echo', messages })), 10_000);
      expect(chat.status).toBe(401);
      expect(chat.message).toContain('expired');
    });

    it('a malformed body', async () => {
      const chat = await refusal(
        openai.chat.completions.create({ model: 'sandbox/echo', messages: [{ role: 'king', content: 'x' } as never] }),
      );
      expect(chat.status).toBe(400);
      expect(chat.message).toContain('role');
      const message = await refusal(anthropic.messages.create({ model: 'sandbox/echo', messages } as never));
      expect(message).toMatchObject({ status: 400, type: 'invalid_request_error' });
      expect(message.message).toContain('max_tokens: Field required');
    });

    it('a field that is not supported and would change the answer', async () => {
      const chat = await refusal(openai.chat.completions.create({ model: 'sandbox/echo', messages, n: 3 }));
      expect(chat.status).toBe(400);
      expect(chat.message).toContain('n');
    });

    async function firstAccount(): Promise<{ id: string }> {
      const lines = (await system.cli('account', 'list', '--json')).trim().split('\n');
      return JSON.parse(lines[0]!) as { id: string };
    }
  });

  it('have cost exactly what was recorded', async () => {
    const accounts = (await system.cli('account', 'list', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string });
    for (const { id } of accounts) {
      const { rows, balance } = await settled(system, id);
      expect(BigInt(balance.spent_nano_usd)).toBe(rows.reduce((sum, row) => sum + BigInt(row.charge_nano_usd), 0n));
    }
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true });
  });
});
