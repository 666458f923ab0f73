// The official library of the messages format, over upstreams of all formats.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import { z } from 'zod';
import { expectNoneRefused } from '../upstream/expect-none-refused.js';
import {
  encryptedThoughts,
  reasoning,
  signedThoughts,
  text,
  textBlock,
  thirdRequest,
  threeTurns,
  timeCall,
  ToolRun,
  usage,
  weatherCall,
} from './answers.js';
import { anthropicLibraries } from './libraries.js';
import { pdf, pdfUrl, png, pngUrl, remotePicture, shownTo } from './media.js';
import { allUpstreams, type Charge, firstThought, type Stage, startStage } from './stage.js';

const messages = [{ role: 'user' as const, content: 'Hello there' }];

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

/** Returns the charged usage in the fields of this format. */
function shown({ tokens }: Charge): unknown {
  return {
    input_tokens: tokens.input,
    cache_read_input_tokens: tokens.cache_read,
    cache_creation_input_tokens: tokens.cache_write_5m + tokens.cache_write_1h,
    output_tokens: tokens.output,
  };
}

describe.each(anthropicLibraries)('$name', ({ Anthropic: Library, betaZodTool, zodOutputFormat }) => {
  describe.each(allUpstreams)('over a %s upstream', (upstream) => {
    let client: Anthropic;
    let model: string;
    const max_tokens = 2000;

    beforeAll(() => {
      client = new Library({ baseURL: stage.system.baseUrl, apiKey: stage.system.firstKey, maxRetries: 0 });
      model = stage.model(upstream);
    });

    const tools = ['get_weather', 'get_time'].map((name) => ({ name, input_schema: { type: 'object' as const, properties: {} } }));

    it('reads a whole answer, and the usage that is charged', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const message = await client.messages.create({ model, max_tokens, messages });
      expect(message).toMatchObject({
        type: 'message',
        role: 'assistant',
        model,
        content: [textBlock],
        stop_reason: 'end_turn',
        stop_sequence: null,
      });
      expect(message._request_id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(message.usage).toMatchObject({ input_tokens: 3, output_tokens: 9 });
      expect(message.usage).toMatchObject(shown(await stage.charge(message._request_id)) as object);
    });

    it('reads a stream event by event', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const { data, response } = await client.messages.create({ model, max_tokens, messages, stream: true }).withResponse();
      const events: Anthropic.RawMessageStreamEvent[] = [];
      for await (const event of data) events.push(event);
      const types = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
      expect(types).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ]);
      expect(
        events.map((event) => (event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '')).join(''),
      ).toBe(text);
      expect((events[0] as Anthropic.RawMessageStartEvent).message.usage.input_tokens).toBeGreaterThan(0);
      expect(events.at(-2)).toMatchObject({
        delta: { stop_reason: 'end_turn' },
        usage: shown(await stage.charge(response.headers.get('request-id'))),
      });
    });

    it('assembles a stream and emits its events', async () => {
      stage.play(upstream, { blocks: [reasoning, textBlock, weatherCall, timeCall], usage });
      const stream = client.messages.stream({ model, max_tokens, messages, tools, thinking: { type: 'enabled', budget_tokens: 1024 } });
      const received = { text: '', thinking: '', json: '', blocks: [] as string[] };
      stream.on('text', (delta) => (received.text += delta));
      stream.on('thinking', (delta) => (received.thinking += delta));
      stream.on('inputJson', (delta) => (received.json += delta));
      stream.on('contentBlock', (block) => received.blocks.push(block.type));
      const message = await stream.finalMessage();
      expect(message).toMatchObject({
        stop_reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: reasoning.text },
          textBlock,
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
          { type: 'tool_use', id: 'call_2', name: 'get_time', input: { zone: 'CET' } },
        ],
      });
      expect(received).toEqual({
        text,
        thinking: reasoning.text,
        json: `${weatherCall.arguments}${timeCall.arguments}`,
        blocks: ['thinking', 'text', 'tool_use', 'tool_use'],
      });
      expect(message.usage).toMatchObject(shown(await stage.charge(stream.request_id)) as object);
    });

    it.each(['whole', 'streamed with their fragments mixed'] as const)('reads parallel tool calls, %s', async (how) => {
      stage.play(upstream, {
        blocks: [{ type: 'text', text: 'Let me look.' }, weatherCall, timeCall],
        ...(how === 'whole' ? {} : { interleaveToolCalls: true }),
      });
      const body = { model, max_tokens, messages, tools };
      const message = await (how === 'whole' ? client.messages.create(body) : client.messages.stream(body).finalMessage());
      expect(message).toMatchObject({
        stop_reason: 'tool_use',
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
          { type: 'tool_use', id: 'call_2', name: 'get_time', input: { zone: 'CET' } },
        ],
      });
    });

    it.each([false, true])('runs tools turn after turn, streamed: %s', async (stream) => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      const runner = client.beta.messages.toolRunner({
        model,
        max_tokens,
        messages,
        stream,
        tools: [
          betaZodTool({
            name: 'get_weather',
            description: 'weather',
            inputSchema: z.object({ city: z.string() }),
            run: ({ city }) => run.weather(city),
          }),
          betaZodTool({
            name: 'get_time',
            description: 'time',
            inputSchema: z.object({ zone: z.string() }),
            run: ({ zone }) => run.time(zone),
          }),
        ],
      });
      expect((await runner.runUntilDone()).content).toMatchObject([textBlock]);
      expect(run.asked).toEqual(['Paris', 'CET', 'Rome']);
      expect(requests()).toHaveLength(3);
      expect(JSON.stringify(requests()[2]!.body['messages'] ?? requests()[2]!.body['input'])).toMatch(thirdRequest);
      if (upstream === 'messages') expect(firstThought(requests()[2]!)).toEqual(signedThoughts);
    });

    it('returns thinking, and sends it back with its signature', async () => {
      const hidden = { type: 'redacted_reasoning', data: 'aGlkZGVu' } as const;
      const blocks = upstream === 'messages' ? [reasoning, hidden, weatherCall] : [reasoning, weatherCall];
      const requests = stage.play(upstream, { blocks }, { blocks: [textBlock] });
      const body = { model, max_tokens, tools, thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
      const first = await client.messages.create({ ...body, messages });
      expect(first.content[0]).toMatchObject({
        type: 'thinking',
        thinking: reasoning.text,
        signature: { messages: reasoning.signature, 'chat-completions': '', responses: `tgitem.rs_0.${reasoning.signature}` }[upstream],
      });
      const turns = [
        ...messages,
        { role: 'assistant' as const, content: first.content },
        { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: 'call_1', content: 'Sunny.' }] },
      ];
      expect((await client.messages.create({ ...body, messages: turns })).content).toMatchObject([textBlock]);
      if (upstream === 'messages') {
        const turn = (requests()[1]!.body['messages'] as { role: string; content: unknown[] }[]).find(({ role }) => role === 'assistant');
        expect(turn?.content.slice(0, 2)).toEqual([
          { type: 'thinking', thinking: reasoning.text, signature: reasoning.signature },
          { type: 'redacted_thinking', data: hidden.data },
        ]);
      }
      if (upstream === 'responses') expect(requests()[1]!.body['input']).toContainEqual(encryptedThoughts);
    });

    it.each(['whole', 'streamed'] as const)('reads an answer that follows a schema, %s', async (how) => {
      const requests = stage.play(upstream, { blocks: [{ type: 'text', text: '{"city":"Paris","degrees":[21]}' }] });
      const schema = z.object({ city: z.string(), degrees: z.array(z.number()) });
      const body = { model, max_tokens, messages, output_config: { format: zodOutputFormat(schema) } };
      const message = await (how === 'whole' ? client.messages.parse(body) : client.messages.stream(body).finalMessage());
      expect(message.parsed_output).toEqual({ city: 'Paris', degrees: [21] });
      const asked = requests()[0]!.body as {
        response_format?: { json_schema: { schema: unknown } };
        output_config?: { format: { schema: unknown } };
        text?: { format: { schema: unknown } };
      };
      expect(asked.response_format?.json_schema.schema ?? (asked.output_config ?? asked.text)?.format.schema).toMatchObject({
        type: 'object',
        required: ['city', 'degrees'],
      });
    });

    it('sends images and documents, also in tool results', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } } as const;
      const turns: Anthropic.MessageParam[] = [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            picture,
            { type: 'image', source: { type: 'url', url: remotePicture } },
            { type: 'document', title: 'paper.pdf', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'A map:' }, picture] }] },
      ];
      expect((await client.messages.create({ model, max_tokens, tools, messages: turns })).content).toMatchObject([textBlock]);
      expect(shownTo(upstream, requests()[0]!)).toEqual([pngUrl, remotePicture, pdfUrl, pngUrl]);
    });

    it('reports why an answer ended', async () => {
      stage.play(upstream, { blocks: [{ type: 'refusal', text: 'I cannot help with that.' }] });
      expect(await client.messages.create({ model, max_tokens, messages })).toMatchObject({
        stop_reason: 'refusal',
        content: [{ type: 'text', text: 'I cannot help with that.' }],
      });
      const capped = { messages: 'max_tokens', 'chat-completions': 'length', responses: 'max_output_tokens' };
      stage.play(upstream, { blocks: [textBlock], stopReason: capped[upstream] });
      expect((await client.messages.create({ model, max_tokens, messages })).stop_reason).toBe('max_tokens');
      // The responses format has no stop sequences; chat-completions says "stop" whether the model ended or a sequence was reached.
      if (upstream === 'responses') return;
      if (upstream === 'messages') stage.play(upstream, { blocks: [textBlock], stopReason: 'stop_sequence', stopSequence: 'away' });
      else stage.play(upstream, { blocks: [textBlock] });
      const stopped = await client.messages.stream({ model, max_tokens, messages, stop_sequences: ['away'] }).finalMessage();
      expect(stopped).toMatchObject(
        upstream === 'messages'
          ? { stop_reason: 'stop_sequence', stop_sequence: 'away' }
          : { stop_reason: 'end_turn', stop_sequence: null },
      );
    });

    it('counts tokens', async () => {
      const { input_tokens } = await client.messages.countTokens({ model, system: 'Be brief.', messages });
      expect(input_tokens).toBeGreaterThan(2);
      expect((await client.beta.messages.countTokens({ model, system: 'Be brief.', messages })).input_tokens).toBe(input_tokens);
    });

    it('works with the key in either header, and with either kind of base URL', async () => {
      stage.play(upstream, { blocks: [textBlock] });
      const { baseUrl, firstKey } = stage.system;
      const headers: Record<string, string>[] = [{ authorization: `Bearer ${firstKey}` }, { 'x-api-key': firstKey }];
      const options = [
        { apiKey: firstKey },
        { authToken: firstKey, apiKey: null },
        ...headers.map((defaultHeaders) => ({ apiKey: firstKey, defaultHeaders })),
      ];
      for (const option of [...options.map((one) => ({ ...one, baseURL: baseUrl })), { apiKey: firstKey, baseURL: `${baseUrl}/v1` }]) {
        const other = new Library({ ...option, maxRetries: 0 });
        expect((await other.messages.create({ model, max_tokens, messages })).content).toMatchObject([{ text }]);
      }
    });
  });

  it.each(['2023-06-01', '2026-10-21'])('supports version %s of the format', async (version) => {
    const client = new Library({
      baseURL: stage.system.baseUrl,
      apiKey: stage.system.firstKey,
      maxRetries: 0,
      defaultHeaders: { 'anthropic-version': version },
    });
    for (const upstream of allUpstreams) {
      stage.play(upstream, { blocks: [textBlock] });
      expect((await client.messages.create({ model: stage.model(upstream), max_tokens: 20, messages })).content).toMatchObject([{ text }]);
    }
  });
});
