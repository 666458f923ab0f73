import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { ApiFormat, CountUsageRequest, GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { startInference, type TestInference, textRequest } from '../testing/fixtures.js';
import { countTexts } from '../tokens/tokenizer.js';

// Starting a thread and loading the vocabulary take a while on a busy machine.
jest.setTimeout(60_000);

const gateway = callContext({ caller: 'gateway' });
const text = 'function add(a, b) { return a + b; }'.repeat(20);

let inference: TestInference;

beforeAll(async () => {
  inference = await startInference();
});

afterAll(() => inference.stop());

const count = async (request: Parameters<typeof CountUsageRequest.fromPartial>[0]) =>
  (await inference.service.countUsage(CountUsageRequest.fromPartial({ upstreamModel: 'gpt-5', ...request }), gateway)).usage;

it('counts the halves that are requested by the tokenizer', async () => {
  const tokens = await countTexts([text]);
  const input = { prompt: textRequest(text).prompt!, tokensMax: 10_000 };
  const output = { text, reasoning: text, otherChoices: 'Hello world', contentEvents: 3, tokensMax: 10_000 };
  const none = { cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
  expect(await count({ input })).toEqual({ ...none, inputTokens: tokens + 4, outputTokens: 0, reasoningTokens: 0 });
  expect(await count({ output })).toEqual({ ...none, inputTokens: 0, outputTokens: 2 * tokens + 2, reasoningTokens: tokens });
  expect(await count({ input, output })).toMatchObject({ inputTokens: tokens + 4, outputTokens: 2 * tokens + 2 });
});

it('counts at least one token for each event with text, and never more than money is held for', async () => {
  expect(await count({ output: { text: 'Hello world', contentEvents: 11, tokensMax: 100 } })).toMatchObject({ outputTokens: 11 });
  expect(await count({ output: { text, contentEvents: 11, tokensMax: 5 } })).toMatchObject({ outputTokens: 5 });
  expect(await count({ output: { bytesBeyond: 400, tokensMax: 1000 } })).toMatchObject({ outputTokens: 100 });
  expect(await count({ input: { prompt: textRequest(text).prompt!, tokensMax: 9 } })).toMatchObject({ inputTokens: 9 });
});

it('returns what the upstream reported if that is more than the count', async () => {
  const output = { text: 'Hello world', contentEvents: 2, tokensMax: 100 };
  const reported = { outputTokens: 40, reasoningTokens: 30 };
  expect(await count({ output: { ...output, reported } })).toMatchObject(reported);
  expect(await count({ output: { ...output, contentEvents: 50, reported } })).toMatchObject({ outputTokens: 50, reasoningTokens: 0 });
});

it('counts what the upstream of the call received', async () => {
  const configured = await startInference({ openaiApiKey: 'sk-test' });
  const prompt = GenerateRequest.fromPartial({
    prompt: {
      messages: [
        { role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] },
        { role: Role.ROLE_ASSISTANT, parts: [{ part: { $case: 'reasoning', value: { text, signature: 'c2ln' } } }] },
      ],
    },
  }).prompt!;
  const nativeFormat = ApiFormat.API_FORMAT_CHAT_COMPLETIONS;
  const input = { prompt, tokensMax: 10_000, nativeFormat, foreignTokens: 70 };
  const inputTo = async (upstreamId: string | undefined) => {
    const request = CountUsageRequest.fromPartial({ upstreamModel: 'gpt-5', upstreamId, input });
    return (await configured.service.countUsage(request, gateway)).usage!.inputTokens;
  };
  try {
    const tokens = await countTexts([text]);
    // OpenAI receives the audio, but no reasoning of an earlier answer; the sandbox receives the reasoning and no audio.
    expect(await inputTo('openai')).toBe(tokens + 8 + 70);
    expect(await inputTo('sandbox')).toBe(2 * tokens + 8);
    expect(await inputTo('removed')).toBe(2 * tokens + 8);
    expect(await inputTo(undefined)).toBe(2 * tokens + 8);
  } finally {
    await configured.stop();
  }
});

it('rejects a request without a model, or without the prompt to count', async () => {
  await expect(count({ upstreamModel: '' })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'upstream_model' } });
  await expect(count({ input: { tokensMax: 1 } })).rejects.toMatchObject({ details: { field: 'input.prompt' } });
});
