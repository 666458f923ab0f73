// The official library of the chat-completions format, over upstreams of all formats.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { z } from 'zod';
import { eventually } from '../support/systems/process.js';
import { addModel } from '../support/stub-models.js';
import { stubNumber } from '../upstream/answers/embeddings.js';
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
import { openaiLibraries } from './libraries.js';
import { pdfUrl, pngUrl, remotePicture, shownTo } from './media.js';
import { type Charge, firstThought, type Stage, startStage, allUpstreams } from './stage.js';

const messages = [{ role: 'user' as const, content: 'Hello there' }];

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

/** Returns the charged usage in the fields of this format. */
function shown({ tokens }: Charge): unknown {
  const prompt = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
  return {
    prompt_tokens: prompt,
    completion_tokens: tokens.output,
    total_tokens: prompt + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cache_read, cache_write_tokens: tokens.cache_write_5m + tokens.cache_write_1h },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}

describe.each(openaiLibraries)('$name', ({ OpenAI: Library, zodFunction, zodResponseFormat }) => {
  describe.each(allUpstreams)('over a %s upstream', (upstream) => {
    let client: OpenAI;
    let model: string;

    beforeAll(() => {
      client = new Library({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, maxRetries: 0 });
      model = stage.model(upstream);
    });

    const tools = ['get_weather', 'get_time'].map((name) => ({
      type: 'function' as const,
      function: { name, parameters: { type: 'object', properties: {} } },
    }));

    it('reads a whole answer, and the usage that is charged', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const completion = await client.chat.completions.create({ model, messages });
      expect(completion).toMatchObject({
        object: 'chat.completion',
        model,
        choices: [{ finish_reason: 'stop', logprobs: null, message: { role: 'assistant', content: text, refusal: null } }],
      });
      expect(completion._request_id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(completion.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } });
      expect(completion.usage).toMatchObject(shown(await stage.charge(completion._request_id)) as object);
    });

    it('reads a stream, with usage only on request', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      for (const include_usage of [true, false]) {
        const { data, response } = await client.chat.completions
          .create({ model, messages, stream: true, stream_options: { include_usage } })
          .withResponse();
        const chunks: OpenAI.ChatCompletionChunk[] = [];
        for await (const chunk of data) chunks.push(chunk);
        expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(text);
        expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason === 'stop')).toHaveLength(1);
        expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
        const charge = await stage.charge(response.headers.get('x-request-id'));
        expect(charge.usage_source).toBe('reported');
        if (include_usage) expect(chunks.at(-1)).toMatchObject({ choices: [], usage: shown(charge) });
        else expect(chunks.every((chunk) => chunk.choices.length === 1 && (chunk.usage ?? null) === null)).toBe(true);
      }
    });

    it('assembles a stream and emits its events', async () => {
      stage.play(upstream, { blocks: [textBlock] });
      const stream = client.chat.completions.stream({ model, messages });
      const deltas: string[] = [];
      stream.on('content.delta', ({ delta, snapshot }) => deltas.push(`${delta}|${snapshot.length}`));
      let done = '';
      stream.on('content.done', ({ content }) => (done = content));
      expect((await stream.finalChatCompletion()).choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } });
      expect(await stream.finalContent()).toBe(text);
      expect(done).toBe(text);
      expect(deltas.at(-1)).toMatch(new RegExp(`\\|${text.length}$`));
    });

    it.each(['whole', 'streamed', 'streamed with their fragments mixed'] as const)('reads parallel tool calls, %s', async (how) => {
      stage.play(upstream, {
        blocks: [{ type: 'text', text: 'Let me look.' }, weatherCall, timeCall],
        ...(how.includes('mixed') ? { interleaveToolCalls: true } : {}),
      });
      const body = { model, messages, tools };
      const done: unknown[] = [];
      const stream =
        how === 'whole'
          ? undefined
          : client.chat.completions
              .stream(body)
              .on('tool_calls.function.arguments.done', (call) => done.push([call.index, call.name, call.arguments]));
      const completion = await (stream === undefined ? client.chat.completions.create(body) : stream.finalChatCompletion());
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: 'Let me look.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            { id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '{"zone":"CET"}' } },
          ],
        },
      });
      if (stream !== undefined) {
        expect(done).toEqual([
          [0, 'get_weather', '{"city":"Paris"}'],
          [1, 'get_time', '{"zone":"CET"}'],
        ]);
      }
    });

    it.each([false, true])('runs tools turn after turn, streamed: %s', async (stream) => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      const runnable = [
        zodFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }), function: ({ city }) => run.weather(city) }),
        zodFunction({ name: 'get_time', parameters: z.object({ zone: z.string() }), function: ({ zone }) => run.time(zone) }),
      ];
      // The runner does not send reasoning back, so the later turns have none.
      const body = { model, messages, tools: runnable, reasoning_effort: 'high' } as const;
      const runner = stream ? client.chat.completions.runTools({ ...body, stream }) : client.chat.completions.runTools(body);
      expect(await runner.finalContent()).toBe(text);
      expect(run.asked).toEqual(['Paris', 'CET', 'Rome']);
      expect(requests()).toHaveLength(3);
      expect(JSON.stringify(requests()[2]!.body['messages'] ?? requests()[2]!.body['input'])).toMatch(thirdRequest);
    });

    it('returns reasoning, and sends it back with its signature', async () => {
      const requests = stage.play(upstream, { blocks: [reasoning, weatherCall] }, { blocks: [textBlock] });
      const stream = client.chat.completions.stream({ model, messages, tools, reasoning_effort: 'high' });
      // The helper keeps only the last fragment of a field that it does not know, so the fragments are read one by one.
      let shown = '';
      stream.on(
        'chunk',
        ({ choices }) => (shown += (choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''),
      );
      const answer = (await stream.finalChatCompletion()).choices[0]!.message;
      expect(shown).toBe(reasoning.text);
      if (upstream === 'messages')
        expect(answer).toMatchObject({ thinking_blocks: [{ type: 'thinking', thinking: reasoning.text, signature: reasoning.signature }] });
      const after = await client.chat.completions.create({
        model,
        messages: [...messages, answer, { role: 'tool', tool_call_id: 'call_1', content: 'Sunny.' }],
        tools,
        reasoning_effort: 'high',
      });
      expect(after.choices[0]!.message.content).toBe(text);
      if (upstream === 'messages') expect(firstThought(requests()[1]!)).toEqual(signedThoughts);
      if (upstream === 'responses') expect(requests()[1]!.body['input']).toContainEqual(encryptedThoughts);
    });

    it.each(['whole', 'streamed'] as const)('reads an answer that follows a schema, %s', async (how) => {
      const requests = stage.play(upstream, { blocks: [{ type: 'text', text: '{"city":"Paris","degrees":[21]}' }] });
      const schema = z.object({ city: z.string(), degrees: z.array(z.number()) });
      const body = { model, messages, response_format: zodResponseFormat(schema, 'weather') };
      const completion = await (how === 'whole'
        ? client.chat.completions.parse(body)
        : client.chat.completions.stream(body).finalChatCompletion());
      expect(completion.choices[0]!.message.parsed).toEqual({ city: 'Paris', degrees: [21] });
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

    it('requests any JSON object', async () => {
      const requests = stage.play(upstream, { blocks: [{ type: 'text', text: '{"any":1}' }] });
      const completion = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'In JSON, please.' }],
        response_format: { type: 'json_object' },
      });
      expect(JSON.parse(completion.choices[0]!.message.content!)).toEqual({ any: 1 });
      // The messages format has no such field; there it is an instruction.
      const { response_format, text: form, system } = requests()[0]!.body;
      if (upstream === 'messages') expect(JSON.stringify(system)).toContain('JSON');
      else expect(response_format ?? (form as { format: unknown }).format).toEqual({ type: 'json_object' });
    });

    it('sends images and documents', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      const content: OpenAI.ChatCompletionContentPart[] = [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: pngUrl, detail: 'low' } },
        { type: 'image_url', image_url: { url: remotePicture } },
        { type: 'file', file: { filename: 'paper.pdf', file_data: pdfUrl } },
      ];
      expect((await client.chat.completions.create({ model, messages: [{ role: 'user', content }] })).choices[0]!.message.content).toBe(
        text,
      );
      expect(shownTo(upstream, requests()[0]!)).toEqual([pngUrl, remotePicture, pdfUrl]);
    });

    it(
      upstream !== 'chat-completions'
        ? 'gets an error: there is one answer, and no probabilities'
        : 'reads several answers, and probabilities',
      async () => {
        stage.play(upstream, { blocks: [{ ...textBlock, logprobs: true }], otherChoices: [[{ type: 'text', text: 'Another one.' }]] });
        for (const fields of [{ n: 2 }, { logprobs: true, top_logprobs: 2 }]) {
          const whole = client.chat.completions.create({ model, messages, ...fields });
          if (upstream !== 'chat-completions') {
            await expect(whole).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter', param: Object.keys(fields)[0] });
            continue;
          }
          const answers = [
            (await whole).choices,
            (await client.chat.completions.stream({ model, messages, ...fields }).finalChatCompletion()).choices,
          ];
          for (const choices of answers) {
            if (fields.n === 2) expect(choices.map((choice) => choice.message.content)).toEqual([text, 'Another one.']);
            else expect(choices[0]!.logprobs!.content!.map(({ token }) => token).join('')).toBe(text);
          }
        }
      },
    );

    it('returns a refusal', async () => {
      stage.play(upstream, { blocks: [{ type: 'refusal', text: 'I cannot help with that.' }] });
      const { choices } = await client.chat.completions.create({ model, messages });
      expect(choices[0]!.message.refusal ?? choices[0]!.message.content).toBe('I cannot help with that.');
      if (upstream === 'messages') expect(choices[0]!.finish_reason).toBe('content_filter');
    });

    it('works with either kind of base URL', async () => {
      stage.play(upstream, { blocks: [textBlock] });
      for (const baseURL of [stage.system.baseUrl, `${stage.system.baseUrl}/v1`, `${stage.system.baseUrl}/v1/`]) {
        const other = new Library({ baseURL, apiKey: stage.system.firstKey, maxRetries: 0 });
        expect((await other.chat.completions.create({ model, messages })).choices[0]!.message.content).toBe(text);
        expect((await other.models.retrieve(model)).id).toBe(model);
      }
    });
  });
});

describe.each(openaiLibraries)('$name, embeddings', ({ OpenAI: Library }) => {
  const model = 'chat-completions/vectors';
  const input = ['Hello there', 'Bye'];
  const vectors = input.map((text) => [0, 1, 2].map((position) => Math.fround(stubNumber(text, position))));
  let client: OpenAI;

  beforeAll(async () => {
    client = new Library({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, maxRetries: 0 });
    await addModel(stage.system, model, 'openai', 'vectors', {
      output_modalities: ['embedding'],
      output_limit_tokens: 0,
      capabilities: [],
    });
    await eventually(async () => (await client.models.retrieve(model).catch(() => undefined))?.id);
  });

  it('reads a vector for each input in order, in each encoding, and the usage that is charged', async () => {
    stage.stub.script('vectors', { usage: { input: 7, output: 0 } });
    for (const encoding_format of [undefined, 'float', 'base64'] as const) {
      const { data, response } = await client.embeddings
        .create({ model, input, ...(encoding_format === undefined ? {} : { encoding_format }) })
        .withResponse();
      expect(data).toMatchObject({ object: 'list', model, usage: { prompt_tokens: 7, total_tokens: 7 } });
      const decoded = data.data.map(({ embedding }) => {
        const encoded: unknown = embedding;
        if (typeof encoded !== 'string') return embedding;
        return Array.from(new Float32Array(Uint8Array.from(Buffer.from(encoded, 'base64')).buffer));
      });
      expect(decoded).toEqual(vectors);
      expect(data.data.map(({ index }) => index)).toEqual([0, 1]);
      const charge = await stage.charge(response.headers.get('x-request-id'));
      expect(charge).toMatchObject({
        tokens: { input: 7, output: 0 },
        charge_usd: '0.000007',
        usage_source: 'reported',
        outcome: 'completed',
      });
    }
  });

  it('sends ids of tokens and the number of dimensions, and is charged for what is not reported', async () => {
    stage.stub.script('vectors', { usage: 'none' });
    const { data, response } = await client.embeddings.create({ model, input: [[1, 2, 3]], dimensions: 2 }).withResponse();
    expect(data.data[0]!.embedding).toHaveLength(2);
    expect(stage.stub.requests.at(-1)!.body).toMatchObject({ input: [[1, 2, 3]], dimensions: 2 });
    expect(await stage.charge(response.headers.get('x-request-id'))).toMatchObject({ charge_usd: '0.000003', usage_source: 'estimated' });
  });

  it('is charged once when a call is repeated under an Idempotency-Key, and not at all when it failed', async () => {
    const failing = { fault: { kind: 'status', status: 500, body: { error: { message: 'Broken.' } } } } as const;
    stage.stub.script('vectors', failing, { usage: { input: 5, output: 0 } });
    const sentBefore = stage.stub.requests.length;
    const headers = { 'Idempotency-Key': randomUUID() };
    const retrying = new Library({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, maxRetries: 2 });
    const first = await retrying.embeddings.create({ model, input }, { headers }).withResponse();
    const second = await client.embeddings.create({ model, input }, { headers }).withResponse();
    expect(second.data).toEqual(first.data);
    expect(second.response.headers.get('idempotency-replayed')).toBe('true');
    expect(stage.stub.requests.length - sentBefore).toBe(2);
    expect(second.response.headers.get('x-tollgate-charge-usd')).toBe('0.000005');
  });

  it('is refused for a model that returns text, and chat for one that returns vectors', async () => {
    const status = 400;
    const [text_, vector] = [stage.model('messages'), model];
    await expect(client.embeddings.create({ model: text_, input })).rejects.toMatchObject({ status, param: 'model' });
    await expect(client.chat.completions.create({ model: vector, messages })).rejects.toMatchObject({ status, param: 'model' });
  });
});
