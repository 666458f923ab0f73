// The official client libraries read what the encoders write, over real HTTP.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import { chatCompletions } from './chat-completions/index.js';
import { answers } from './testing/answers.js';
import { answerContext, counts, finished, reasoningBlock, refusalBlock, started, textBlock, toolBlock } from './testing/events.js';
import type { Format } from './format.js';
import { messages } from './messages/index.js';

/** What the server does with the next request. */
let script: { events: Event[]; error?: AppError; refuse?: AppError };

async function answer(format: Format, body: unknown, write: (text: string) => void): Promise<void> {
  const parsed = format.parse(body, { version: '2023-06-01' });
  const context = { ...answerContext, includeUsage: parsed.includeUsage };
  if (!parsed.streaming) {
    const collector = format.collector(context);
    collector.push(script.events);
    write(JSON.stringify(collector.finish(counts)));
    return;
  }
  const encoder = format.stream(context);
  for (const event of script.events) write(`${encoder.push([event])}${format.keepAlive}`);
  write(script.error === undefined ? encoder.finish(counts) : format.errorFrame(script.error, context.requestId));
}

const server: Server = createServer((request, response) => {
  const format = request.url!.includes('/messages') ? messages : chatCompletions;
  void (async () => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (script.refuse !== undefined) {
      const { status, body, headers } = format.error(script.refuse, answerContext.requestId);
      response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1', 'request-id': 'req_1', ...headers });
      response.end(JSON.stringify(body));
      return;
    }
    const body = JSON.parse(text) as { stream?: boolean };
    response.writeHead(200, { 'content-type': body.stream === true ? 'text/event-stream' : 'application/json' });
    await answer(format, body, (frames) => void response.write(frames));
    response.end();
  })();
});

let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  openai = new OpenAI({ apiKey: 'key', baseURL: `${base}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'key', baseURL: base, maxRetries: 0 });
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
const message = { ...chat, max_tokens: 100 };
const rich = [
  started,
  ...reasoningBlock(0, 'hmm', 'sig'),
  ...textBlock(1, 'I ', 'look.'),
  ...toolBlock(2, 'call_a', 'f', '{"x"', ':1}'),
  ...toolBlock(3, 'call_b', 'g'),
  finished(StopReason.STOP_REASON_END),
];

describe('the openai library', () => {
  it('reads a whole answer', async () => {
    script = { events: rich };
    const completion = await openai.chat.completions.create(chat);
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'I look.' } });
    expect(completion.usage).toMatchObject({ prompt_tokens: 127, total_tokens: 177 });
  });

  it('assembles a stream with its helper', async () => {
    script = { events: rich };
    const stream = openai.chat.completions.stream({ ...chat, stream_options: { include_usage: true } });
    const completion = await stream.finalChatCompletion();
    const [choice] = completion.choices;
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: 'I look.', reasoning_content: 'hmm' },
    });
    expect(choice!.message.tool_calls).toMatchObject([
      { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'call_b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]);
    expect(completion.usage).toMatchObject({ completion_tokens: 50, prompt_tokens_details: { cached_tokens: 20 } });
  });

  it('reads a refusal where it parses an answer with a schema', async () => {
    script = { events: [started, ...refusalBlock(0, 'I may not.'), finished(StopReason.STOP_REASON_REFUSAL)] };
    const json_schema = {
      name: 'out',
      strict: true,
      schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
    };
    const structured = { ...chat, response_format: { type: 'json_schema' as const, json_schema } };
    const whole = await openai.chat.completions.parse(structured);
    const streamed = await openai.chat.completions.stream(structured).finalChatCompletion();
    for (const { choices } of [whole, streamed])
      expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { refusal: 'I may not.', parsed: null } });
  });

  it('sees an error in the middle of a stream', async () => {
    script = { events: [started, ...textBlock(0, 'Hel')], error: new AppError('upstream_failed', 'The upstream broke off.') };
    const stream = await openai.chat.completions.create({ ...chat, stream: true });
    const read = async (): Promise<void> => {
      for await (const _chunk of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_failed', type: 'server_error', message: 'The upstream broke off.' });
  });

  it('recognises errors by their class, code and request id', async () => {
    script = { events: [], refuse: new AppError('model_unknown', 'There is no such model.', { details: { field: 'model' } }) };
    const failure = await openai.chat.completions.create(chat).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError);
    expect(failure).toMatchObject({ code: 'model_not_found', param: 'model', requestID: 'req_1' });
  });
});

describe('the anthropic library', () => {
  it('reads a whole answer', async () => {
    script = { events: rich };
    const whole = await anthropic.messages.create(message);
    expect(whole.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use']);
    expect(whole.usage).toMatchObject({ input_tokens: 100, cache_read_input_tokens: 20 });
  });

  it('assembles a stream with its helper', async () => {
    script = { events: rich };
    const whole = await anthropic.messages.stream(message).finalMessage();
    expect(whole.content).toMatchObject([
      { type: 'thinking', thinking: 'hmm', signature: 'sig' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'call_a', name: 'f', input: { x: 1 } },
      { type: 'tool_use', id: 'call_b', name: 'g', input: {} },
    ]);
    expect(whole).toMatchObject({ stop_reason: 'tool_use', usage: { input_tokens: 100, output_tokens: 50, cache_read_input_tokens: 20 } });
  });

  it('sees an error in the middle of a stream', async () => {
    script = { events: [started, ...textBlock(0, 'Hel')], error: new AppError('upstream_overloaded', 'Busy.') };
    await expect(anthropic.messages.stream(message).finalMessage()).rejects.toMatchObject({ type: 'overloaded_error' });
  });

  it('recognises errors by their class, type and request id', async () => {
    script = { events: [], refuse: new AppError('balance_empty', 'The balance is empty.') };
    const failure = await anthropic.messages.create(message).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(failure).toMatchObject({ status: 402, type: 'billing_error', requestID: 'req_1' });
  });
});

describe('a streamed answer', () => {
  it('is the same as the whole answer for both libraries, whatever the model writes', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (events) => {
        script = { events };
        const wholeMessage = await anthropic.messages.create(message);
        const streamedMessage = await anthropic.messages.stream(message).finalMessage();
        expect(streamedMessage).toMatchObject({ content: wholeMessage.content, stop_reason: wholeMessage.stop_reason });

        const whole = await openai.chat.completions.create(chat);
        const streamed = await openai.chat.completions.stream(chat).finalChatCompletion();
        const { content, refusal, tool_calls } = whole.choices[0]!.message;
        const put = streamed.choices[0]!.message;
        expect([put.content ?? '', put.refusal ?? '', put.tool_calls ?? []]).toMatchObject([
          content ?? '',
          refusal ?? '',
          tool_calls ?? [],
        ]);
        expect(streamed.choices[0]!.finish_reason).toBe(whole.choices[0]!.finish_reason);
      }),
      { numRuns: 40 },
    );
  });
});
