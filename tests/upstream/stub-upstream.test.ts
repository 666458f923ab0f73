// Tests the stub with the vendors' own libraries, which must not notice a difference.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type StubUpstream, startStubUpstream, stubApiKey } from './stub-upstream.js';

let stub: StubUpstream;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  stub = await startStubUpstream();
  openai = new OpenAI({ apiKey: stubApiKey, baseURL: stub.baseUrl, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: stubApiKey, baseURL: stub.baseUrl.replace('/v1', ''), maxRetries: 0 });
});

afterAll(() => stub.stop());

const messages = [{ role: 'user' as const, content: 'Hi' }];
const text = 'Hello from the stub upstream.';

describe('the OpenAI library', () => {
  it('reads answers, whole and streamed, with usage', async () => {
    const whole = await openai.chat.completions.create({ model: 'text', messages });
    expect(whole.choices[0]?.message.content).toBe(text);
    const streamed = await openai.chat.completions
      .stream({ model: 'text', messages, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe(text);
    expect(streamed.usage?.total_tokens).toBeGreaterThan(0);
  });

  it.each(['tool', 'parallel-tools', 'interleaved-tools'])('reads tool calls: %s', async (model) => {
    const tools = ['get_weather', 'get_time'].map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }));
    const streamed = await openai.chat.completions.stream({ model, messages, tools }).finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments)[0]).toBe(
      '{"city":"Paris"}',
    );
  });

  it('gets an error for requests that the vendor would reject', async () => {
    await expect(openai.chat.completions.create({ model: 'text', messages, unknown: 1 } as never)).rejects.toMatchObject({ status: 400 });
    await expect(openai.chat.completions.create({ model: 'text', messages: [] })).rejects.toMatchObject({ status: 400 });
    await expect(
      new OpenAI({ apiKey: 'wrong', baseURL: stub.baseUrl, maxRetries: 0 }).chat.completions.create({ model: 'text', messages }),
    ).rejects.toMatchObject({ status: 401 });
  });

  it('reads responses, whole and streamed, with their reasoning and calls', async () => {
    const request = { input: 'Hi', store: false };
    expect(await openai.responses.create({ model: 'text', ...request })).toMatchObject({ output_text: text, status: 'completed' });
    const streamed = await openai.responses.stream({ model: 'reasoning-and-tool', ...request }).finalResponse();
    expect(streamed.output).toMatchObject([
      { type: 'reasoning', encrypted_content: 'c2lnbmF0dXJl' },
      { type: 'function_call', call_id: 'call_1', arguments: '{"city":"Paris"}' },
    ]);
    expect(streamed.usage?.total_tokens).toBeGreaterThan(0);
    expect((await openai.responses.inputTokens.count({ model: 'text', input: 'Hi' })).input_tokens).toBeGreaterThan(0);
    await expect(openai.responses.create({ model: 'text', input: 'Hi', store: true })).rejects.toMatchObject({
      status: 400,
      param: 'store',
    });
    await expect(openai.responses.create({ model: 'status-429', ...request })).rejects.toMatchObject({ status: 429 });
  });

  it('reads failures', async () => {
    await expect(openai.chat.completions.create({ model: 'status-429', messages })).rejects.toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
    });
    await expect(openai.chat.completions.stream({ model: 'error-frame', messages }).finalChatCompletion()).rejects.toMatchObject({
      type: 'overloaded_error',
    });
  });
});

describe('the Anthropic library', () => {
  it('reads answers, whole and streamed, with usage', async () => {
    const whole = await anthropic.messages.create({ model: 'text', max_tokens: 50, messages });
    expect(whole.content).toMatchObject([{ type: 'text', text }]);
    const streamed = await anthropic.messages.stream({ model: 'reasoning', max_tokens: 50, messages }).finalMessage();
    expect(streamed.content).toMatchObject([
      { type: 'thinking', signature: 'c2lnbmF0dXJl' },
      { type: 'text', text },
    ]);
    expect(streamed.usage.output_tokens).toBeGreaterThan(0);
    expect((await anthropic.messages.countTokens({ model: 'text', messages })).input_tokens).toBeGreaterThan(0);
  });

  it('reads tool calls', async () => {
    const streamed = await anthropic.messages.stream({ model: 'parallel-tools', max_tokens: 50, messages }).finalMessage();
    expect(streamed.content).toMatchObject([
      { type: 'tool_use', input: { city: 'Paris' } },
      { type: 'tool_use', input: { zone: 'CET' } },
    ]);
    expect(streamed.stop_reason).toBe('tool_use');
  });

  it('gets an error for requests that the vendor would reject', async () => {
    await expect(anthropic.messages.create({ model: 'text', max_tokens: 50, messages, temperature: 1 } as never)).rejects.toMatchObject({
      status: 400,
    });
    await expect(anthropic.messages.create({ model: 'text', messages } as never)).rejects.toMatchObject({ status: 400 });
  });

  it('reads failures', async () => {
    await expect(anthropic.messages.create({ model: 'status-529', max_tokens: 50, messages })).rejects.toMatchObject({
      status: 529,
      type: 'overloaded_error',
    });
    await expect(anthropic.messages.stream({ model: 'error-frame', max_tokens: 50, messages }).finalMessage()).rejects.toMatchObject({
      type: 'overloaded_error',
    });
  });
});
