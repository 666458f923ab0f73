// The 27 pitfalls of other gateways in section 7.9 of the format's reference, each with its number and source, on every path that
// it can happen on.
import { describe, expect, it } from '@jest/globals';
import { encryptedContentOf } from '#rules/wire/reasoning-seals.js';
import type { Json } from '../upstream/checks/check.js';
import type { Block, Script } from '../upstream/script.js';
import { type ExpectedAnswer, expectAnswers, onPath, usage } from './support/expect-answer.js';
import { conformance, type Outcome, priceOf } from './support/gateway.js';
import { from, isNative, over, type Path, paths } from './support/paths.js';
import { type Bodies, bodyFor, question, tools } from './support/requests.js';
import { blocksSent, messagesSent } from './support/said.js';
import { time, weather } from './support/variants.js';

const gateway = conformance();

const words = 'Good evening, and good night.';
const signature = 'c2lnbmF0dXJl';
const text: Block = { type: 'text', text: words };
const thought: Block = { type: 'reasoning', text: 'Let me see.', signature };
const textSeen: ExpectedAnswer = { seen: { text: words, stop: 'end' } };
const streamed = (list: readonly Path[]): readonly Path[] => list.filter(({ streaming }) => streaming);
const crossing = (client: Path['client'], upstream: Path['upstream']): readonly Path[] =>
  from(client).filter((path) => path.upstream === upstream);

/** Returns a turn with two tool calls and their results, as callers of each format send it back. */
const replayed = (ids: readonly [string, string], more: { content?: string | null; thinking?: readonly Json[] } = {}): Bodies => ({
  'chat-completions': {
    ...tools['chat-completions'],
    messages: [
      { role: 'user', content: 'Weather and time?' },
      {
        role: 'assistant',
        content: more.content ?? null,
        ...(more.thinking === undefined ? {} : { thinking_blocks: more.thinking }),
        tool_calls: [
          { id: ids[0], type: 'function', function: { name: 'get_weather', arguments: '{"city":"Zürich"}' } },
          { id: ids[1], type: 'function', function: { name: 'get_time', arguments: '{"zone":"CET"}' } },
        ],
      },
      { role: 'tool', tool_call_id: ids[0], content: 'sun' },
      { role: 'tool', tool_call_id: ids[1], content: 'noon' },
    ],
  },
  messages: {
    ...tools.messages,
    messages: [
      { role: 'user', content: 'Weather and time?' },
      {
        role: 'assistant',
        content: [
          ...(more.thinking ?? []),
          { type: 'tool_use', id: ids[0], name: 'get_weather', input: { city: 'Zürich' } },
          { type: 'tool_use', id: ids[1], name: 'get_time', input: { zone: 'CET' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: ids[0], content: 'sun' },
          { type: 'tool_result', tool_use_id: ids[1], content: 'noon' },
        ],
      },
    ],
  },
  responses: {
    ...tools.responses,
    input: [
      { role: 'user', content: 'Weather and time?' },
      ...(more.thinking ?? []).map(({ thinking, signature: signed }) => ({
        type: 'reasoning',
        summary: thinking === '' ? [] : [{ type: 'summary_text', text: thinking }],
        encrypted_content: encryptedContentOf({ text: String(thinking), signature: String(signed), redactedData: '' }),
      })),
      { type: 'function_call', call_id: ids[0], name: 'get_weather', arguments: '{"city":"Zürich"}' },
      { type: 'function_call', call_id: ids[1], name: 'get_time', arguments: '{"zone":"CET"}' },
      { type: 'function_call_output', call_id: ids[0], output: 'sun' },
      { type: 'function_call_output', call_id: ids[1], output: 'noon' },
    ],
  },
});

/** Returns the ids of tool calls and of their results, as the upstream received them. */
function idsSent(outcome: Outcome): { calls: unknown[]; results: unknown[] } {
  const messages = messagesSent(outcome);
  const blocks = blocksSent(outcome);
  return {
    calls: [
      ...messages.flatMap((message) => ((message['tool_calls'] ?? []) as Json[]).map(({ id }) => id)),
      ...blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id),
      ...messages.filter(({ type }) => type === 'function_call').map((item) => item['call_id']),
    ],
    results: [
      ...messages.filter(({ role }) => role === 'tool').map((message) => message['tool_call_id']),
      ...blocks.filter(({ type }) => type === 'tool_result').map((block) => block['tool_use_id']),
      ...messages.filter(({ type }) => type === 'function_call_output').map((item) => item['call_id']),
    ],
  };
}

describe('money', () => {
  it('1 (litellm#11789): cache reads are billed at their own price, even when streamed', async () => {
    const figures = { input: 5, cacheRead: 40, output: 7 };
    await expectAnswers(gateway, paths, { blocks: [text], usage: figures }, { ...textSeen, end: { kind: 'complete', usage: figures } });
  });

  it('2 (litellm#9812, #11364): cache writes are billed once, by their lifetime', async () => {
    const figures = { input: 5, cacheWrite5m: 30, cacheWrite1h: 15, output: 7 };
    await expectAnswers(gateway, paths, { blocks: [text], usage: figures }, { ...textSeen, end: { kind: 'complete', usage: figures } });
  });

  it('3 (new-api#4395): a messages caller of an OpenAI-like upstream sees its input without cached tokens', async () => {
    const list = [...crossing('messages', 'chat-completions'), ...crossing('messages', 'responses')];
    const outcomes = await expectAnswers(gateway, list, { blocks: [text] }, textSeen);
    for (const { seen } of outcomes.values()) expect(seen.usage).toMatchObject({ input: usage.input, cacheRead: usage.cacheRead });
  });

  it('4 (langchain#32818, genkit#5412): a chat-completions caller of a messages upstream sees its whole input', async () => {
    const outcomes = await expectAnswers(gateway, crossing('chat-completions', 'messages'), { blocks: [text] }, textSeen);
    for (const [{ streaming }, { frames, body }] of outcomes) {
      const shown = (streaming ? (frames.at(-2)!.data as Json)['usage'] : body['usage']) as Json;
      expect(shown['prompt_tokens']).toBe(usage.input + usage.cacheRead + usage.cacheWrite5m);
    }
  });

  it('5 (litellm#28735): the usage chunk has no choices, wherever the upstream reports usage', async () => {
    for (const usagePlace of ['last-chunk', 'finish-chunk', 'every-chunk'] as const) {
      const outcomes = await expectAnswers(gateway, streamed(from('chat-completions')), { blocks: [text], usagePlace }, textSeen);
      for (const { frames } of outcomes.values())
        expect(frames.at(-2)!.data).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } });
    }
  });

  it('6 (langchain PR#35559): usage in a chunk without choices is not lost', async () => {
    await expectAnswers(gateway, over('chat-completions'), { blocks: [text], usagePlace: 'last-chunk' }, textSeen);
  });

  it('7 (langchain PR#22242): usage is always requested from the upstream, and shown only to callers that requested it', async () => {
    for (const path of streamed(from('chat-completions'))) {
      gateway.answer(path.upstream, { blocks: [text], usage });
      const outcome = await gateway.call(path, question['chat-completions']);
      await onPath(path, async () => {
        expect(outcome.text).not.toContain('usage');
        expect(outcome.frames.at(-2)!.data).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
        expect(await gateway.charged(outcome)).toMatchObject({ source: 'reported', chargeNanoUsd: priceOf(usage) });
        if (path.upstream === 'chat-completions')
          expect(outcome.sent?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
      });
    }
  });

  it('8 (CLIProxyAPI#1700, llm-rosetta#424): message_start estimates the input, and message_delta corrects it', async () => {
    const outcomes = await expectAnswers(gateway, streamed(from('messages')), { blocks: [text] }, textSeen);
    for (const { frames } of outcomes.values()) {
      const start = ((frames[0]!.data as Json)['message'] as Json)['usage'] as Json;
      expect(start['input_tokens']).toBeGreaterThan(0);
      expect(frames.find(({ event }) => event === 'message_delta')!.data).toMatchObject({
        usage: { input_tokens: usage.input, cache_read_input_tokens: usage.cacheRead, output_tokens: usage.output },
      });
    }
  });

  it('22 (litellm#14457, open-ace PR#3422): disconnecting in the middle is not free', async () => {
    for (const path of streamed(paths)) {
      gateway.answer(path.upstream, { blocks: [text], usage, deltaChars: 4, fault: { kind: 'stall', afterFrames: 6, signsOfLife: true } });
      const record = await gateway.charged(await gateway.leave(path, bodyFor(path)));
      await onPath(path, () => {
        expect(record).toMatchObject({ outcome: 'client_disconnected', source: 'estimated', chargeNanoUsd: priceOf(record.tokens) });
        expect(record.tokens.output).toBeGreaterThan(0);
      });
    }
  });

  it('23 (new-api#7062, #5235): disconnecting shortly before the end costs what the upstream reports', async () => {
    for (const path of streamed(paths)) {
      gateway.answer(path.upstream, { blocks: [text], usage, deltaChars: 8, frameDelayMs: 10 });
      const record = await gateway.charged(await gateway.leave(path, bodyFor(path)));
      await onPath(path, () => expect(record).toMatchObject({ source: 'reported', chargeNanoUsd: priceOf(usage) }));
    }
  });

  it('24 (new-api#5289): the HTML page of a proxy is not output', async () => {
    for (const status of [200, 502]) {
      const script: Script = { fault: { kind: 'status', status, body: `<html><body>${'words '.repeat(500)}</body></html>` } };
      await expectAnswers(gateway, paths, script, { end: { kind: 'failed' } });
    }
  });

  it('25 (new-api#4186, litellm#17364): the upstream request is cancelled immediately when the caller disconnects', async () => {
    for (const path of streamed(paths)) {
      gateway.answer(path.upstream, { blocks: [text], deltaChars: 4, fault: { kind: 'stall', afterFrames: 6, signsOfLife: true } });
      const { sent } = await gateway.leave(path, bodyFor(path));
      await onPath(path, async () => expect(await sent!.clientLeft).toBe(true));
    }
  });

  // services/inference/tokens/tokenizer.test.ts measures that counting runs in a thread, and how much it delays the event loop.
  it('26 (litellm#36429): a long answer without usage is counted while other calls are answered', async () => {
    const path = streamed(over('chat-completions'))[0]!;
    gateway.answer('chat-completions', {
      blocks: [{ type: 'text', text: 'antidisestablishmentarianism '.repeat(40_000) }],
      usage: 'none',
      deltaChars: 4000,
    });
    let isDone = false;
    const answer = gateway.call(path, { ...question['chat-completions'], max_tokens: 8000 }).finally(() => (isDone = true));
    let answeredMeanwhile = 0;
    while (!isDone) {
      await gateway.alive();
      if (!isDone) answeredMeanwhile += 1;
    }
    const record = await gateway.charged(await answer);
    expect(record).toMatchObject({ source: 'estimated', chargeNanoUsd: priceOf(record.tokens) });
    expect(answeredMeanwhile).toBeGreaterThan(0);
  });

  it('27 (litellm PR#37734): an alias of the model, ours or the upstream’s, does not change the price', async () => {
    for (const path of paths) {
      gateway.answer(path.upstream, { blocks: [text], usage, envelope: { model: 'vendor-model-2026-11-20' } });
      const alias = `${{ 'chat-completions': 'cc', messages: 'm', responses: 'r' }[path.upstream]}/subject-alias`;
      const outcome = await gateway.call(path, { ...bodyFor(path), model: alias });
      await onPath(path, async () => {
        expect(await gateway.charged(outcome)).toMatchObject({
          source: 'reported',
          chargeNanoUsd: priceOf(usage),
          model: alias.replace('-alias', ''),
        });
        expect(outcome.text).not.toContain('vendor-model');
      });
    }
  });
});

describe('streams', () => {
  it('9 (CLIProxyAPI#539, 9router PR#2248): blocks are numbered by Tollgate’s own counter', async () => {
    const gaps = (events: readonly Json[]): readonly Json[] =>
      events.map((event) => ('index' in event ? { ...event, index: (event['index'] as number) * 3 + 2 } : event));
    const script = ({ upstream }: Path): Script => ({
      blocks: [thought, text, weather, time],
      ...(upstream === 'messages' ? { edit: gaps } : {}),
    });
    const outcomes = await expectAnswers(
      gateway,
      streamed(from('messages')),
      script,
      { seen: { text: words, reasoning: 'Let me see.', stop: 'tool_calls' } },
      tools,
    );
    for (const { frames } of outcomes.values()) {
      const starts = frames
        .filter(({ event }) => event === 'content_block_start')
        .map(({ data }) => [(data as Json)['index'], ((data as Json)['content_block'] as Json)['type']]);
      expect(starts).toEqual([
        [0, 'thinking'],
        [1, 'text'],
        [2, 'tool_use'],
        [3, 'tool_use'],
      ]);
    }
  });

  it('10 (ccNexus PR#89): parallel tool calls each have their own index', async () => {
    const shared = (chunks: readonly Json[]): readonly Json[] =>
      chunks.map((chunk) => JSON.parse(JSON.stringify(chunk).replace('"tool_calls":[{"index":1', '"tool_calls":[{"index":0')) as Json);
    const script = ({ upstream }: Path): Script => ({
      blocks: [weather, time],
      ...(upstream === 'chat-completions' ? { edit: shared } : {}),
    });
    const calls = [
      { id: 'call_1', name: 'get_weather', arguments: '{"city":"Zürich"}' },
      { id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' },
    ];
    await expectAnswers(gateway, paths, script, { seen: { calls, stop: 'tool_calls' } }, tools);
  });

  it('18 (vercel/ai#7238, #5350, #14722, ollama#7881, vllm#16340): index, id, type and name of a tool call are in its first fragment', async () => {
    const outcomes = await expectAnswers(
      gateway,
      streamed(from('chat-completions')),
      { blocks: [weather, time] },
      { seen: { stop: 'tool_calls' } },
      tools,
    );
    for (const { frames } of outcomes.values()) {
      const fragments = frames
        .flatMap(({ data }) => ((data as Json)['choices'] as Json[] | undefined) ?? [])
        .flatMap((choice) => ((choice['delta'] as Json)['tool_calls'] ?? []) as Json[]);
      const opening = fragments.filter((fragment) => 'id' in fragment);
      expect(opening.map(({ index, id, type, function: fn }) => [index, id, type, (fn as Json)['name']])).toEqual([
        [0, 'call_1', 'function', 'get_weather'],
        [1, 'call_2', 'function', 'get_time'],
      ]);
      expect(JSON.stringify(fragments)).not.toContain('null');
    }
  });

  it('21 (litellm#27492): text after reasoning is not lost, whole and streamed', async () => {
    await expectAnswers(gateway, paths, { blocks: [thought, text] }, { seen: { text: words, reasoning: 'Let me see.', stop: 'end' } });
  });
});

describe('conversations', () => {
  const thinking = { type: 'thinking', thinking: 'Let me see.', signature };
  const think: Bodies = {
    'chat-completions': { reasoning_effort: 'high', max_tokens: 4000 },
    messages: { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 4000 },
    responses: { reasoning: { effort: 'high' }, max_output_tokens: 4000 },
  };
  const both = (one: Bodies, other: Bodies): Bodies => ({
    'chat-completions': { ...one['chat-completions'], ...other['chat-completions'] },
    messages: { ...one.messages, ...other.messages },
    responses: { ...one.responses, ...other.responses },
  });

  it('11 (openai-agents-python#678, opencode#3077): signed reasoning is sent back before the tool calls that it led to', async () => {
    const outcomes = await expectAnswers(
      gateway,
      over('messages'),
      { blocks: [text] },
      textSeen,
      both(replayed(['call_1', 'call_2'], { thinking: [thinking] }), think),
    );
    for (const outcome of outcomes.values())
      expect(blocksSent(outcome).map(({ type }) => type)).toEqual([
        'text',
        'thinking',
        'tool_use',
        'tool_use',
        'tool_result',
        'tool_result',
      ]);
    for (const outcome of outcomes.values()) expect(blocksSent(outcome)[1]).toEqual(thinking);
  });

  it('11 (openai-agents-python#678, opencode#3077): a caller that does not send reasoning back is not refused', async () => {
    await expectAnswers(
      gateway,
      crossing('chat-completions', 'messages'),
      { blocks: [text] },
      textSeen,
      both(replayed(['call_1', 'call_2']), think),
    );
  });

  it('12 (litellm PR#38809): reasoning whose display was omitted keeps its signature, to the caller and back again', async () => {
    const omitted = { type: 'thinking', thinking: '', signature };
    await expectAnswers(
      gateway,
      over('messages'),
      { blocks: [{ type: 'reasoning', text: '', signature }, text] },
      { seen: { reasoning: '', signatures: [signature], text: words } },
    );
    const outcomes = await expectAnswers(
      gateway,
      over('messages'),
      { blocks: [text] },
      textSeen,
      both(replayed(['call_1', 'call_2'], { thinking: [omitted] }), think),
    );
    for (const outcome of outcomes.values()) expect(blocksSent(outcome)[1]).toEqual(omitted);
  });

  it('13 (litellm#8883, #8901, pydantic-ai#2425): a forced tool call does not conflict with thinking', async () => {
    const forced = { ...think['chat-completions'], ...tools['chat-completions'], tool_choice: 'required' };
    await expectAnswers(
      gateway,
      crossing('chat-completions', 'messages'),
      { blocks: [weather] },
      { seen: { stop: 'tool_calls' } },
      { 'chat-completions': forced },
    );
  });

  it('14 (req_llm PR#250, OpenHands#7512): results of parallel tool calls are sent in one message', async () => {
    const outcomes = await expectAnswers(gateway, over('messages'), { blocks: [text] }, textSeen, replayed(['call_1', 'call_2']));
    for (const outcome of outcomes.values()) {
      expect(messagesSent(outcome).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
      expect((messagesSent(outcome)[2]!['content'] as Json[]).map(({ type }) => type)).toEqual(['tool_result', 'tool_result']);
    }
  });

  it('15 (litellm#21114, bifrost#5097): ids of other vendors match the required pattern, and each result matches its call', async () => {
    const strange = ['functions.get_weather:0', 'functions.get_time:1'] as const;
    const outcomes = await expectAnswers(
      gateway,
      crossing('chat-completions', 'messages'),
      { blocks: [text] },
      textSeen,
      replayed(strange),
    );
    for (const outcome of outcomes.values()) {
      const { calls, results } = idsSent(outcome);
      expect(calls).toEqual(results);
      expect(new Set(calls).size).toBe(2);
    }
    const seen = await expectAnswers(
      gateway,
      crossing('messages', 'chat-completions'),
      { blocks: [{ ...weather, id: strange[0] }] },
      { seen: { stop: 'tool_calls' } },
      tools,
    );
    for (const {
      seen: { calls },
    } of seen.values())
      expect(calls[0]!.id).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('16 (vllm PR#34745): a result refers to its call, whichever field has the id', async () => {
    const outcomes = await expectAnswers(gateway, paths, { blocks: [text] }, textSeen, replayed(['call_1', 'call_2']));
    for (const outcome of outcomes.values())
      expect(idsSent(outcome)).toEqual({ calls: ['call_1', 'call_2'], results: ['call_1', 'call_2'] });
  });

  it('17 (vercel/ai#5576): a turn with tool calls and an empty text has no text block', async () => {
    const outcomes = await expectAnswers(
      gateway,
      crossing('chat-completions', 'messages'),
      { blocks: [text] },
      textSeen,
      replayed(['call_1', 'call_2'], { content: '' }),
    );
    for (const outcome of outcomes.values())
      expect(blocksSent(outcome).filter(({ type, text: said }) => type === 'text' && said === '')).toEqual([]);
  });

  it('19 (one-api#350, CLIProxyAPI#3608, grok2api PR#598): instructions in the middle of a conversation are accepted, and stay there', async () => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'How are you?' },
      { role: 'system', content: 'Be brief from now on.' },
    ];
    const outcomes = await expectAnswers(gateway, paths, { blocks: [text] }, textSeen, {
      'chat-completions': { messages },
      messages: { messages },
      responses: { input: messages },
    });
    for (const outcome of outcomes.values()) {
      const at = messagesSent(outcome).findIndex((message) => JSON.stringify(message).includes('from now on'));
      expect(at).toBeGreaterThan(1);
    }
  });

  it('20 (DeepSeek-V3#1397): reasoning is switched off without sending an effort', async () => {
    const bodies: Bodies = {
      'chat-completions': { reasoning_effort: 'none' },
      messages: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      responses: { reasoning: { effort: 'none' } },
    };
    const outcomes = await expectAnswers(
      gateway,
      paths.filter((path) => !isNative(path)),
      { blocks: [text] },
      textSeen,
      bodies,
    );
    for (const { sent } of outcomes.values()) {
      expect(sent?.body).not.toHaveProperty('output_config');
      expect(['none', undefined]).toContain(sent?.body['reasoning_effort'] ?? (sent?.body['reasoning'] as Json | undefined)?.['effort']);
    }
  });
});
