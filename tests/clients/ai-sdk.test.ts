// The Vercel AI SDK with its three providers that a gateway meets, over upstreams of both formats.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, type LanguageModel, type ModelMessage, streamText, tool } from 'ai';
import { z } from 'zod';
import { type Stage, startStage, upstreams, usage } from './stage.js';

const text = 'Hello from far away.';
const weatherCall = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' } as const;
const timeCall = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' } as const;
const reasoning = { type: 'reasoning', text: 'Let me think about it.', signature: 'c2lnbmF0dXJl' } as const;

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});

afterAll(() => stage?.stop());

const options = (): { baseURL: string; apiKey: string } => ({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey });

const providers: readonly { name: string; create(model: string): LanguageModel }[] = [
  { name: '@ai-sdk/openai', create: (model) => createOpenAI(options()).chat(model) },
  { name: '@ai-sdk/openai-compatible', create: (model) => createOpenAICompatible({ name: 'tollgate', includeUsage: true, ...options() })(model) },
  { name: '@ai-sdk/anthropic', create: (model) => createAnthropic(options())(model) },
];

describe.each(providers)('$name', ({ name, create }) => {
  describe.each(upstreams)('over a %s upstream', (upstream) => {
    let model: LanguageModel;

    beforeAll(() => {
      model = create(stage.model(upstream));
    });

    it('reads a whole answer, and the usage that is charged', async () => {
      stage.play(upstream, { blocks: [{ type: 'text', text }], usage });
      const result = await generateText({ model, prompt: 'Hello there', maxRetries: 0 });
      expect(result).toMatchObject({ text, finishReason: 'stop' });
      const { tokens } = await stage.charge(result.response.headers!['x-request-id']);
      expect(result.usage).toMatchObject({ inputTokens: 9, inputTokenDetails: { cacheReadTokens: 4 }, outputTokens: 9 });
      expect(result.usage.inputTokens).toBe(tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h);
      expect(result.usage.outputTokens).toBe(tokens.output);
    });

    it('reads a stream', async () => {
      stage.play(upstream, { blocks: [{ type: 'text', text }], usage });
      const result = streamText({ model, prompt: 'Hello there', maxRetries: 0 });
      let read = '';
      for await (const piece of result.textStream) read += piece;
      expect(read).toBe(text);
      expect(await result.finishReason).toBe('stop');
      expect(await result.usage).toMatchObject({ inputTokens: 9, outputTokens: 9 });
    });

    it.each(['generateText', 'streamText'] as const)('runs tools turn after turn with %s', async (how) => {
      const requests = stage.play(upstream, { blocks: [weatherCall, timeCall], interleaveToolCalls: true }, { blocks: [{ type: 'text', text: 'One more.' }, { ...weatherCall, id: 'call_3', arguments: '{"city":"Rome"}' }] }, { blocks: [{ type: 'text', text }] });
      const asked: string[] = [];
      const answer = <T>(argument: string, result: T): T => {
        asked.push(argument);
        return result;
      };
      const call = {
        model,
        prompt: 'Hello there',
        maxRetries: 0,
        stopWhen: isStepCount(5),
        tools: {
          get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => answer(city, `Sunny in ${city}.`) }),
          get_time: tool({ inputSchema: z.object({ zone: z.string() }), execute: ({ zone }) => answer(zone, { now: '12:00' }) }),
        },
      };
      const result = how === 'generateText' ? await generateText(call) : streamText(call);
      const steps = await result.steps;
      expect(await result.text).toBe(text);
      expect(steps.map((step) => [step.finishReason, step.toolCalls.map(({ toolName, input }) => [toolName, input])])).toEqual([
        ['tool-calls', [['get_weather', { city: 'Paris' }], ['get_time', { zone: 'CET' }]]],
        ['tool-calls', [['get_weather', { city: 'Rome' }]]],
        ['stop', []],
      ]);
      expect([...asked].sort()).toEqual(['CET', 'Paris', 'Rome']);
      expect(requests()).toHaveLength(3);
      expect(JSON.stringify(requests()[2]!.body['messages'])).toMatch(/call_1.*call_2.*Sunny in Paris\..*12:00.*One more\..*call_3.*Sunny in Rome\./);
    });

    // The provider for OpenAI's own chat completions knows no reasoning text.
    if (name !== '@ai-sdk/openai') {
      it('shows reasoning, and hands it back', async () => {
        const requests = stage.play(upstream, { blocks: [reasoning, { type: 'text', text: 'Wait.' }] }, { blocks: [{ type: 'text', text }] });
        const prompt: ModelMessage[] = [{ role: 'user', content: 'Hello there' }];
        const first = streamText({ model, messages: prompt, reasoning: 'high', maxRetries: 0 });
        expect(await first.reasoningText).toBe(reasoning.text);
        expect(await first.text).toBe('Wait.');
        const messages: ModelMessage[] = [...prompt, ...(await first.response).messages, { role: 'user', content: 'Go on.' }];
        expect((await generateText({ model, messages, reasoning: 'high', maxRetries: 0 })).text).toBe(text);
        if (name === '@ai-sdk/anthropic' && upstream === 'messages') {
          const turn = (requests()[1]!.body['messages'] as { role: string; content: unknown[] }[]).find(({ role }) => role === 'assistant');
          expect(turn?.content[0]).toEqual({ type: 'thinking', thinking: reasoning.text, signature: reasoning.signature });
        }
      });
    }
  });
});
