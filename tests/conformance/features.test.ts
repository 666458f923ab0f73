// Each feature of the formats on all paths: requests reach the upstream in a form that it accepts, and answers reach the caller, unchanged
// if caller and upstream use the same format.
import { describe, expect, it } from '@jest/globals';
import type { Json } from '../upstream/checks/check.js';
import { scriptsByModel } from '../upstream/fixtures.js';
import type { Script } from '../upstream/script.js';
import { type ExpectedAnswer, expectAnswers, onPath, usage } from './support/expect-answer.js';
import { conformance, type Outcome } from './support/gateway.js';
import { from, isNative, over, type Path, paths, wholePaths, type WireName } from './support/paths.js';
import { type Bodies, bodyFor, tools } from './support/requests.js';
import { blocksSent, droppedIn, messagesSent } from './support/said.js';

const gateway = conformance({ withWhole: true });

const hello = 'Hello from the stub upstream.';
const helloSeen: ExpectedAnswer = { seen: { text: hello, stop: 'end' } };
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF').toString('base64');
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const crossing = paths.filter((path) => !isNative(path));
const native = paths.filter(isNative);
/** Returns a conversation with one user message in each format. */
const asking = (chat: unknown, messages: unknown, responses: unknown): Bodies => ({
  'chat-completions': { messages: [{ role: 'user', content: chat }] },
  messages: { messages: [{ role: 'user', content: messages }] },
  responses: { input: [{ role: 'user', content: responses }] },
});

/** Makes calls with these bodies, and expects that the requests to the upstream match, depending on its format. */
async function expectSent(
  bodies: Partial<Bodies>,
  sent: Partial<Record<WireName, unknown>> | ((path: Path) => unknown),
  list: readonly Path[] = paths,
): Promise<ReadonlyMap<Path, Outcome>> {
  const outcomes = await expectAnswers(gateway, list, scriptsByModel['text']!, helloSeen, bodies);
  for (const [path, outcome] of outcomes) {
    const wanted = typeof sent === 'function' ? sent(path) : sent[path.upstream];
    if (wanted !== undefined) await onPath(path, () => expect(outcome.sent?.body).toMatchObject(wanted as Json));
  }
  return outcomes;
}

describe('requests', () => {
  it('instructions', async () => {
    const bodies: Bodies = {
      'chat-completions': {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: 'Hello' },
        ],
      },
      messages: {
        system: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Be kind.' },
        ],
        messages: [{ role: 'user', content: 'Hello' }],
      },
      responses: {
        input: [
          { role: 'system', content: 'Be brief.' },
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hello' },
        ],
      },
    };
    const outcomes = await expectSent(bodies, {});
    for (const [{ client, upstream }, outcome] of outcomes) {
      const system =
        upstream === 'messages'
          ? (outcome.sent!.body['system'] as Json[]).map(({ text }) => text)
          : upstream === 'responses' && client !== 'responses'
            ? outcome.sent!.body['instructions']
            : messagesSent(outcome)
                .filter(({ role }) => role === 'system')
                .map(({ content }) => content);
      expect(JSON.stringify(system)).toMatch(/Be brief\..*Be kind\./);
    }
  });

  it('images as bytes and by URL', async () => {
    const url = 'https://example.com/cat.png';
    const bodies = asking(
      [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
        { type: 'image_url', image_url: { url } },
      ],
      [
        { type: 'text', text: 'What is this?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        { type: 'image', source: { type: 'url', url } },
      ],
      [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}` },
        { type: 'input_image', image_url: url },
      ],
    );
    for (const [{ upstream }, outcome] of await expectSent(bodies, {})) {
      const data = `data:image/png;base64,${png}`;
      expect(blocksSent(outcome)).toMatchObject(
        {
          messages: [
            { type: 'text' },
            { type: 'image', source: { type: 'base64', data: png } },
            { type: 'image', source: { type: 'url', url } },
          ],
          'chat-completions': [
            { type: 'text' },
            { type: 'image_url', image_url: { url: data } },
            { type: 'image_url', image_url: { url } },
          ],
          responses: [{ type: 'input_text' }, { type: 'input_image', image_url: data }, { type: 'input_image', image_url: url }],
        }[upstream],
      );
    }
  });

  it('documents', async () => {
    const bodies = asking(
      [
        { type: 'text', text: 'Sum it up.' },
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
      ],
      [
        { type: 'text', text: 'Sum it up.' },
        { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
      ],
      [
        { type: 'input_text', text: 'Sum it up.' },
        { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      ],
    );
    for (const [, outcome] of await expectSent(bodies, {})) expect(JSON.stringify(blocksSent(outcome))).toContain(pdf);
  });

  it('images in a tool result', async () => {
    const history = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Zürich' } }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [
              { type: 'text', text: 'Here.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ],
          },
        ],
      },
    ];
    const items = [
      { role: 'user', content: 'Look.' },
      { type: 'function_call', call_id: 'toolu_1', name: 'get_weather', arguments: '{"city":"Zürich"}' },
      {
        type: 'function_call_output',
        call_id: 'toolu_1',
        output: [
          { type: 'input_text', text: 'Here.' },
          { type: 'input_image', image_url: `data:image/png;base64,${png}` },
        ],
      },
    ];
    const bodies = { messages: { ...tools.messages, messages: history }, responses: { ...tools.responses, input: items } };
    for (const outcome of (await expectSent(bodies, {}, [...from('messages'), ...from('responses')])).values())
      expect(JSON.stringify(messagesSent(outcome))).toContain(png);
  });

  it.each<[string, unknown, unknown, unknown]>([
    ['any tool', 'required', { type: 'any' }, 'required'],
    ['no tool', 'none', { type: 'none' }, 'none'],
    [
      'this tool',
      { type: 'function', function: { name: 'get_time' } },
      { type: 'tool', name: 'get_time' },
      { type: 'function', name: 'get_time' },
    ],
  ])('tool choice: %s', async (_name, chat, messages, responses) => {
    const bodies: Bodies = {
      'chat-completions': { ...tools['chat-completions'], tool_choice: chat },
      messages: { ...tools.messages, tool_choice: messages },
      responses: { ...tools.responses, tool_choice: responses },
    };
    await expectSent(bodies, {
      'chat-completions': { tool_choice: chat },
      messages: { tool_choice: messages },
      responses: { tool_choice: responses },
    });
  });

  it('no parallel tool calls', async () => {
    const bodies: Bodies = {
      'chat-completions': { ...tools['chat-completions'], parallel_tool_calls: false },
      messages: { ...tools.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { ...tools.responses, parallel_tool_calls: false },
    };
    await expectSent(bodies, {
      'chat-completions': { parallel_tool_calls: false },
      messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { parallel_tool_calls: false },
    });
  });

  it('structured output', async () => {
    const bodies: Bodies = {
      'chat-completions': { response_format: { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } } },
      messages: { output_config: { format: { type: 'json_schema', schema } } },
      responses: { text: { format: { type: 'json_schema', name: 'weather', schema, strict: true } } },
    };
    await expectSent(bodies, {
      'chat-completions': { response_format: { type: 'json_schema', json_schema: { schema } } },
      messages: { output_config: { format: { type: 'json_schema', schema } } },
      responses: { text: { format: { type: 'json_schema', schema } } },
    });
    await expectAnswers(
      gateway,
      paths,
      scriptsByModel['structured']!,
      { seen: { text: '{"city":"Paris","degrees":21}', stop: 'end' } },
      bodies,
    );
  });

  it('pitfall 13 (litellm#8883, #8901): structured output with reasoning', async () => {
    const body = {
      reasoning_effort: 'high',
      max_tokens: 4000,
      response_format: { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } },
    };
    const outcomes = await expectSent(
      { 'chat-completions': body },
      {},
      from('chat-completions').filter(({ upstream }) => upstream === 'messages'),
    );
    for (const { sent } of outcomes.values())
      expect(['any', 'tool']).not.toContain((sent!.body['tool_choice'] as Json | undefined)?.['type']);
  });

  it('sampling and stop sequences', async () => {
    const stops: Bodies = { 'chat-completions': { stop: ['END'] }, messages: { stop_sequences: ['END'] }, responses: {} };
    await expectSent(
      stops,
      { 'chat-completions': stops['chat-completions'], messages: stops.messages },
      paths.filter(({ client, upstream }) => client !== 'responses' && upstream !== 'responses'),
    );
    const warm = { temperature: 0.5 };
    const all: Bodies = { 'chat-completions': warm, messages: warm, responses: warm };
    await expectSent(all, all);
    // The responses format has no stop sequences, and without them the answer would continue past the point where the caller wants it to stop.
    for (const path of over('responses').filter((one) => !isNative(one))) {
      const asked = gateway.stub.requests.length;
      const { status, text } = await gateway.call(path, { ...bodyFor(path), ...stops[path.client] });
      expect([status, text.includes('takes no stop sequences'), gateway.stub.requests.length]).toEqual([400, true, asked]);
    }
  });

  it('reasoning', async () => {
    const bodies: Bodies = {
      'chat-completions': { reasoning_effort: 'high', max_tokens: 4000 },
      messages: { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 4000 },
      responses: { reasoning: { effort: 'high' }, max_output_tokens: 4000 },
    };
    for (const [{ upstream }, { sent }] of await expectSent(bodies, {})) {
      const { thinking, output_config: config, reasoning_effort: effort, reasoning } = sent!.body;
      expect({ messages: thinking ?? config, 'chat-completions': effort, responses: reasoning }[upstream]).toBeDefined();
    }
  });

  it('cache_control, for a messages upstream', async () => {
    const mark = { type: 'ephemeral' };
    const marked = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Long text', cache_control: mark }] }] };
    await expectSent({ messages: marked }, { messages: { messages: [{ content: [{ cache_control: mark }] }] } }, from('messages'));
  });

  it('log probabilities and several choices: only if the upstream supports them', async () => {
    const logprobs = { 'chat-completions': { logprobs: true, top_logprobs: 2 } };
    const outcomes = await expectAnswers(
      gateway,
      over('chat-completions').filter(isNative),
      scriptsByModel['logprobs']!,
      { seen: { text: 'Hello there.' } },
      logprobs,
    );
    for (const { text } of outcomes.values()) expect(text).toContain('"logprob":-0.25');
    const several = await expectAnswers(gateway, over('chat-completions').filter(isNative), scriptsByModel['choices']!, helloSeen, {
      'chat-completions': { n: 2 },
    });
    for (const [{ streaming }, { text, body }] of several) {
      if (streaming) expect(text).toContain('"index":1');
      else expect((body['choices'] as Json[]).map(({ message }) => (message as Json)['content'])).toEqual([hello, 'Another answer.']);
    }
    for (const fields of [{ logprobs: true }, { n: 2 }]) {
      for (const path of from('chat-completions').filter((one) => !isNative(one))) {
        const asked = gateway.stub.requests.length;
        const { status, body } = await gateway.call(path, { ...bodyFor(path), ...fields });
        expect({ status, body }).toMatchObject({ status: 400, body: { error: { param: Object.keys(fields)[0] } } });
        expect(gateway.stub.requests).toHaveLength(asked);
      }
    }
  });

  it('custom tools: as they are where the upstream has them, elsewhere as functions with one text', async () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "print"' };
    const said = { id: 'call_0', name: 'run_code', input: 'print("an earlier text")' };
    const head = { name: 'run_code', description: 'Runs code.' };
    const custom: Partial<Bodies> = {
      'chat-completions': {
        tools: [
          { type: 'custom', custom: { ...head, format: { type: 'grammar', grammar: { syntax: 'lark', definition: format.definition } } } },
        ],
        tool_choice: { type: 'custom', custom: { name: 'run_code' } },
        messages: [
          { role: 'user', content: 'Hello there' },
          { role: 'assistant', tool_calls: [{ id: said.id, type: 'custom', custom: { name: said.name, input: said.input } }] },
          { role: 'tool', tool_call_id: said.id, content: 'Printed.' },
        ],
      },
      responses: {
        tools: [{ type: 'custom', ...head, format }],
        tool_choice: { type: 'custom', name: 'run_code' },
        input: [
          { role: 'user', content: 'Hello there' },
          { type: 'custom_tool_call', call_id: said.id, name: said.name, input: said.input },
          { type: 'custom_tool_call_output', call_id: said.id, output: 'Printed.' },
        ],
      },
    };
    const list = [...from('chat-completions'), ...from('responses')];
    // The stub's chat-completions server is not OpenAI's, and few others have them.
    const hasCustom = (path: Path) => path.upstream === 'responses';
    const asFunction: Script = {
      blocks: [{ type: 'tool_call', id: 'call_1', name: 'run_code', arguments: JSON.stringify({ input: 'print("free text")' }) }],
    };
    const outcomes = await expectAnswers(
      gateway,
      list,
      (path) => (hasCustom(path) ? scriptsByModel['custom-tool']! : asFunction),
      { seen: { calls: [{ id: 'call_1', name: 'run_code', arguments: 'print("free text")' }], stop: 'tool_calls' } },
      custom,
    );
    for (const [path, { sent, text }] of outcomes) {
      const body = JSON.stringify(sent!.body);
      await onPath(path, () => {
        expect(body).toContain('an earlier text');
        expect(body).toContain('start: ');
        expect(body.includes('"type":"custom"')).toBe(hasCustom(path));
        expect(text).toContain(path.client === 'responses' ? '"type":"custom_tool_call"' : '"type":"custom"');
      });
    }
  });

  it('deprecated functions, answered as tool calls', async () => {
    const { tools: list } = tools['chat-completions'] as { tools: Json[] };
    const outcomes = await expectAnswers(
      gateway,
      from('chat-completions'),
      scriptsByModel['tool']!,
      { seen: { calls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' }], stop: 'tool_calls' } },
      {
        'chat-completions': { functions: list.map((tool) => tool['function']), function_call: 'auto' },
      },
    );
    for (const { sent } of outcomes.values()) expect(sent!.body['tools']).toHaveLength(2);
  });

  it('a new field of a vendor that its operator allows: passed on to it, dropped for others and reported as dropped', async () => {
    for (const upstream of ['chat-completions', 'messages', 'responses'] as const) gateway.rules(upstream, { knownFields: ['hologram'] });
    const field = { hologram: { shape: 'cube' } };
    const bodies: Bodies = { 'chat-completions': field, messages: field, responses: field };
    for (const [path, outcome] of await expectSent(bodies, (path) => (isNative(path) ? { hologram: { shape: 'cube' } } : {}))) {
      if (isNative(path)) continue;
      expect(outcome.sent!.body).not.toHaveProperty('hologram');
      expect(droppedIn(outcome)).toContain('hologram');
    }
  });

  it('fields that cost more than tokens: sent to no upstream, and reported as dropped', async () => {
    const costly = { web_search: true, num_completions: 8, generation_config: { max_output_tokens: 9 }, thinking_budget: 1_000_000 };
    const bodies: Bodies = { 'chat-completions': costly, messages: costly, responses: costly };
    for (const outcome of (await expectSent(bodies, {})).values()) {
      for (const name of Object.keys(costly)) expect(outcome.sent!.body).not.toHaveProperty(name);
      expect(droppedIn(outcome)).toEqual(expect.arrayContaining(Object.keys(costly)));
    }
  });

  it('a field that no vendor knows: the vendor’s error reaches the caller', async () => {
    for (const path of native) {
      const outcome = await gateway.call(path, { ...bodyFor(path), hologram: 1 });
      const refused = gateway.stub.takeRefused();
      await onPath(path, () => {
        expect(refused).toHaveLength(1);
        expect({ status: outcome.status, body: outcome.body }).toMatchObject({
          status: 400,
          body: { error: { message: expect.stringContaining('hologram') } },
        });
      });
      expect((await gateway.charged(outcome)).chargeNanoUsd).toBe(0n);
    }
  });

  it('both versions of the messages format, and the beta flags that cost nothing but tokens', async () => {
    const betas = 'effort-2025-11-24,new-thing-2026-11-01';
    for (const path of from('messages')) {
      for (const version of ['2023-06-01', '2026-10-21']) {
        gateway.answer(path.upstream, { ...scriptsByModel['text']!, usage });
        const outcome = await gateway.call(path, bodyFor(path), { 'anthropic-version': version, 'anthropic-beta': betas });
        await onPath(path, () => {
          expect(outcome.seen.text).toBe(hello);
          if (isNative(path))
            expect(outcome.sent!.headers).toMatchObject({ 'anthropic-version': version, 'anthropic-beta': 'effort-2025-11-24' });
          if (isNative(path)) expect(droppedIn(outcome)).toEqual(['anthropic-beta.new-thing-2026-11-01']);
        });
      }
    }
  });

  it('token counts, from the vendor if it offers them', async () => {
    const body = { messages: [{ role: 'user', content: 'Hello there' }], ...tools.messages };
    gateway.answer('messages', { count: 1234 });
    expect(await gateway.count('messages', body)).toEqual({ status: 200, body: { input_tokens: 1234 } });
    for (const upstream of ['chat-completions', 'responses'] as const) {
      const { status, body: estimate } = await gateway.count(upstream, body);
      expect(status).toBe(200);
      expect(estimate['input_tokens']).toBeGreaterThan(2);
    }
  });
});

describe('answers', () => {
  const seenCalls = {
    get_weather: { id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
    get_time: { id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' },
  };
  const signature = 'c2lnbmF0dXJl';
  const thought = 'Let me think about it.';

  it.each<[string, ExpectedAnswer['seen']]>([
    ['text', { text: hello, calls: [], stop: 'end' }],
    ['tool', { text: '', calls: [seenCalls.get_weather], stop: 'tool_calls' }],
    ['text-and-tool', { text: hello, calls: [seenCalls.get_weather], stop: 'tool_calls' }],
    ['parallel-tools', { calls: [seenCalls.get_weather, seenCalls.get_time], stop: 'tool_calls' }],
    ['interleaved-tools', { calls: [seenCalls.get_weather, seenCalls.get_time], stop: 'tool_calls' }],
    ['empty-arguments', { calls: [{ ...seenCalls.get_weather, arguments: '{}' }], stop: 'tool_calls' }],
    ['reasoning-unsigned', { reasoning: thought, signatures: [], text: hello }],
  ])('%s', async (name, seen) => {
    const outcomes = await expectAnswers(gateway, [...paths, ...wholePaths], scriptsByModel[name]!, { seen: seen! }, tools);
    for (const [{ isAskedWhole = false }, { sent }] of outcomes) expect(sent!.body['stream']).toBe(isAskedWhole ? undefined : true);
  });

  it.each<[string, ExpectedAnswer['seen']]>([
    ['reasoning', { reasoning: thought, signatures: [signature], text: hello }],
    ['reasoning-omitted', { reasoning: '', signatures: [signature], text: hello }],
    ['reasoning-redacted', { reasoning: '', redacted: ['cmVkYWN0ZWQ='], text: hello }],
    [
      'reasoning-and-tool',
      { reasoning: 'I need the weather.', signatures: [signature], calls: [seenCalls.get_weather], stop: 'tool_calls' },
    ],
  ])('%s, of a messages upstream', async (name, seen) => {
    await expectAnswers(gateway, over('messages'), scriptsByModel[name]!, { seen: seen! }, tools);
  });

  // Encrypted reasoning comes back under the id of its item, which only callers of the format have a field for.
  it.each<[string, string, ExpectedAnswer['seen']]>([
    ['reasoning', signature, { reasoning: thought, text: hello }],
    ['reasoning-omitted', signature, { reasoning: '', text: hello }],
    ['reasoning-redacted', 'cmVkYWN0ZWQ=', { reasoning: '', text: hello }],
    ['reasoning-and-tool', signature, { reasoning: 'I need the weather.', calls: [seenCalls.get_weather], stop: 'tool_calls' }],
  ])('%s, of a responses upstream', async (name, encrypted, seen) => {
    await expectAnswers(
      gateway,
      over('responses'),
      scriptsByModel[name]!,
      (path) => ({ seen: { ...seen, signatures: [isNative(path) ? encrypted : `tgitem.rs_0.${encrypted}`] } }),
      tools,
    );
  });

  it('a refusal', async () => {
    await expectAnswers(gateway, [...over('chat-completions'), ...over('responses')], scriptsByModel['refusal']!, ({ client }) => ({
      seen: { refusal: 'I cannot help with that.', ...(client === 'messages' ? { stop: 'refusal' } : {}) },
    }));
    await expectAnswers(gateway, over('messages'), scriptsByModel['refusal']!, { seen: { stop: 'refusal' } });
  });

  it('a filter', async () => {
    await expectAnswers(gateway, [...over('chat-completions'), ...over('responses')], scriptsByModel['content-filter']!, {
      seen: { text: hello, stop: 'refusal' },
    });
  });

  it('an output cap, a stop sequence, a full context and a pause', async () => {
    await expectAnswers(
      gateway,
      [...paths, ...wholePaths],
      ({ upstream }) => ({
        stopReason: { messages: 'max_tokens', 'chat-completions': 'length', responses: 'max_output_tokens' }[upstream],
      }),
      {
        seen: { text: hello, stop: 'max_tokens' },
      },
    );
    await expectAnswers(
      gateway,
      over('messages'),
      { stopReason: 'stop_sequence', stopSequence: 'END' },
      ({ client }) => ({ seen: { stop: client === 'messages' ? 'stop_sequence' : 'end' } }),
      { messages: { stop_sequences: ['END'] }, 'chat-completions': { stop: ['END'] } },
    );
    await expectAnswers(gateway, over('messages'), scriptsByModel['context-full']!, ({ client }) => ({
      seen: { stop: client === 'messages' ? 'context_full' : 'max_tokens' },
    }));
    await expectAnswers(gateway, over('messages'), scriptsByModel['pause-turn']!, ({ client }) => ({
      seen: { stop: client === 'messages' ? 'pause' : 'end' },
    }));
  });

  /** Features that only callers of the upstream's format can read, with a word that identifies them. */
  it.each<[string, WireName, readonly string[]]>([
    ['citations', 'messages', ['char_location']],
    ['server-tool', 'messages', ['srvtoolu_1', 'web_search_tool_result']],
    ['unknown-block', 'messages', ['hologram', 'cube']],
    ['unknown-fields', 'messages', ['tomorrow', 'new_end_field']],
    ['annotations', 'chat-completions', ['url_citation']],
    ['unknown-block', 'chat-completions', ['hologram', 'cube']],
    ['unknown-fields', 'chat-completions', ['tomorrow', 'new_end_field', 'fp_stub']],
    ['annotations', 'responses', ['url_citation']],
    ['server-tool', 'responses', ['ws_1', 'web_search_call']],
    ['unknown-block', 'responses', ['hologram', 'cube']],
    ['unknown-fields', 'responses', ['tomorrow', 'new_end_field']],
  ])('%s, of a %s upstream: unchanged for callers of its format, and harmless for others', async (name, upstream, known) => {
    const outcomes = await expectAnswers(gateway, over(upstream), scriptsByModel[name]!, { seen: { stop: 'end' } });
    for (const [path, { text }] of outcomes) {
      for (const word of known)
        await onPath(path, () => (isNative(path) ? expect(text).toContain(word) : expect(text).not.toContain(word)));
    }
  });

  it('unknown events and deltas of a messages upstream', async () => {
    const script: Script = {
      edit: (events) => [
        ...events.slice(0, 3),
        { type: 'hologram_event', shape: 'cube' },
        { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', shape: 'ball' } },
        ...events.slice(3),
      ],
    };
    for (const [path, { text }] of await expectAnswers(
      gateway,
      over('messages').filter(({ streaming }) => streaming),
      script,
      helloSeen,
    )) {
      await onPath(path, () =>
        expect([text.includes('hologram_event'), text.includes('hologram_delta')]).toEqual([isNative(path), isNative(path)]),
      );
    }
  });

  it('an unknown field in every event of a messages upstream, in as many frames as the upstream sent', async () => {
    const marked = ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta'];
    let sent = 0;
    const script: Script = {
      edit: (events) => {
        sent = events.filter(({ type }) => marked.includes(String(type))).length;
        return events.map((event) => (marked.includes(String(event['type'])) ? { ...event, around_tomorrow: true } : event));
      },
    };
    for (const [path, { frames }] of await expectAnswers(
      gateway,
      over('messages').filter(({ streaming }) => streaming),
      script,
      helloSeen,
    )) {
      const seen = frames.filter(({ data }) => (data as Json)['around_tomorrow'] === true).length;
      await onPath(path, () => expect(seen).toBe(isNative(path) ? sent : 0));
    }
  });

  it('tool names that are too long for the other formats', async () => {
    const name = `get_${'weather_'.repeat(10)}now`;
    const bodies = { messages: { tools: [{ name, input_schema: { type: 'object', properties: {} } }] } };
    for (const path of crossing.filter(({ client }) => client === 'messages')) {
      gateway.answer(path.upstream, { usage });
      const first = await gateway.call(path, bodyFor(path, bodies));
      const [tool] = first.sent!.body['tools'] as [Json];
      const shortened = ((tool['function'] ?? tool) as Json)['name'] as string;
      expect(shortened.length).toBeLessThanOrEqual(64);
      gateway.answer(path.upstream, { usage, blocks: [{ type: 'tool_call', id: 'call_1', name: shortened, arguments: '{}' }] });
      expect((await gateway.call(path, bodyFor(path, bodies))).seen.calls).toEqual([{ id: 'call_1', name, arguments: '{}' }]);
    }
  });
});
