// The Vercel AI SDK with the three providers that can be used with a gateway, over upstreams of both formats.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, type LanguageModel, type ModelMessage, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { expectNoneRefused } from '../upstream/expect-none-refused.js';
import { reasoning, signedThoughts, text, textBlock, thirdRequest, threeTurns, ToolRun, usage } from './answers.js';
import { aiSdkProviders } from './callers.js';
import { pdf, pdfUrl, png, pngUrl, remotePicture, shownTo } from './media.js';
import { firstThought, type Stage, startStage, upstreams } from './stage.js';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

describe.each(aiSdkProviders)('$name', ({ name, readsReasoning, model: create }) => {
  describe.each(upstreams)('over a %s upstream', (upstream) => {
    let model: LanguageModel;
    /** The same model under a name whose capabilities the library knows. */
    let known: LanguageModel;

    beforeAll(() => {
      const settings = { baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, fetch };
      model = create(stage.model(upstream), settings);
      known = create(stage.alias(upstream), settings);
    });

    it('reads a whole answer, and the usage that is charged', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const result = await generateText({ model, prompt: 'Hello there', maxRetries: 0 });
      expect(result).toMatchObject({ text, finishReason: 'stop' });
      const { tokens } = await stage.charge(result.response.headers!['x-request-id']);
      expect(result.usage).toMatchObject({ inputTokens: 9, inputTokenDetails: { cacheReadTokens: 4 }, outputTokens: 9 });
      expect(result.usage.inputTokens).toBe(tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h);
      expect(result.usage.outputTokens).toBe(tokens.output);
    });

    it('reads a stream', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const result = streamText({ model, prompt: 'Hello there', maxRetries: 0 });
      let read = '';
      for await (const piece of result.textStream) read += piece;
      expect(read).toBe(text);
      expect(await result.finishReason).toBe('stop');
      expect(await result.usage).toMatchObject({ inputTokens: 9, outputTokens: 9 });
    });

    it('sends instructions and limits in the form for reasoning models', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      const call = {
        instructions: 'Be brief.',
        prompt: 'Hello there',
        maxOutputTokens: 2000,
        temperature: 0.5,
        stopSequences: ['away'],
        maxRetries: 0,
      };
      expect((await generateText({ ...call, model, reasoning: 'high', providerOptions: { openai: { forceReasoning: true } } })).text).toBe(
        text,
      );
      const { body } = requests()[0]!;
      expect(JSON.stringify(body['system'] ?? body['messages'])).toContain('Be brief.');
      expect(body['max_tokens'] ?? body['max_completion_tokens']).toBeGreaterThanOrEqual(2000);
    });

    it.each(['generateText', 'streamText'] as const)('runs tools turn after turn with %s', async (how) => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      const call = {
        model,
        prompt: 'Hello there',
        maxRetries: 0,
        stopWhen: isStepCount(5),
        tools: {
          get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => run.weather(city) }),
          get_time: tool({ inputSchema: z.object({ zone: z.string() }), execute: ({ zone }) => run.time(zone) }),
        },
      };
      const result = how === 'generateText' ? await generateText(call) : streamText(call);
      const steps = await result.steps;
      expect(await result.text).toBe(text);
      expect(steps.map((step) => [step.finishReason, step.toolCalls.map(({ toolName, input }) => [toolName, input])])).toEqual([
        [
          'tool-calls',
          [
            ['get_weather', { city: 'Paris' }],
            ['get_time', { zone: 'CET' }],
          ],
        ],
        ['tool-calls', [['get_weather', { city: 'Rome' }]]],
        ['stop', []],
      ]);
      expect([...run.asked].sort()).toEqual(['CET', 'Paris', 'Rome']);
      expect(requests()).toHaveLength(3);
      expect(JSON.stringify(requests()[2]!.body['messages'])).toMatch(thirdRequest);
      if (name === '@ai-sdk/anthropic' && upstream === 'messages') expect(firstThought(requests()[2]!)).toEqual(signedThoughts);
    });

    it.each(['generateText', 'streamText'] as const)('reads an answer that follows a schema with %s', async (how) => {
      stage.play(upstream, { blocks: [{ type: 'text', text: '{"city":"Paris","degrees":[21]}' }] });
      const schema = z.object({ city: z.string(), degrees: z.array(z.number()) });
      const call = { model: known, prompt: 'Hello there', maxRetries: 0, output: Output.object({ schema }) };
      const result = how === 'generateText' ? await generateText(call) : streamText(call);
      expect(await result.output).toEqual({ city: 'Paris', degrees: [21] });
    });

    it('continues a conversation', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      const messages: ModelMessage[] = [];
      for (const content of ['Hello there', 'And now?', 'Go on.']) {
        messages.push({ role: 'user', content });
        const result = await generateText({ model, messages, maxRetries: 0 });
        expect(result.text).toBe(text);
        messages.push(...result.response.messages);
      }
      const sent = JSON.stringify(requests()[2]!.body['messages']);
      expect(sent.split(text)).toHaveLength(3);
      expect(sent).toMatch(/Hello there.*And now\?.*Go on\./);
    });

    it('sends images and documents', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      const messages: ModelMessage[] = [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'file', mediaType: 'image/png', data: Buffer.from(png, 'base64') },
            { type: 'file', mediaType: 'image/png', data: new URL(remotePicture) },
            { type: 'file', mediaType: 'application/pdf', filename: 'paper.pdf', data: Buffer.from(pdf, 'base64') },
          ],
        },
      ];
      expect((await generateText({ model, messages, maxRetries: 0 })).text).toBe(text);
      expect(shownTo(upstream, requests()[0]!)).toEqual([pngUrl, remotePicture, pdfUrl]);
    });

    if (readsReasoning) {
      it('returns reasoning, and sends it back', async () => {
        const requests = stage.play(upstream, { blocks: [reasoning, { type: 'text', text: 'Wait.' }] }, { blocks: [textBlock] });
        const prompt: ModelMessage[] = [{ role: 'user', content: 'Hello there' }];
        const first = streamText({ model, messages: prompt, reasoning: 'high', maxRetries: 0 });
        expect(await first.reasoningText).toBe(reasoning.text);
        expect(await first.text).toBe('Wait.');
        const messages: ModelMessage[] = [...prompt, ...(await first.response).messages, { role: 'user', content: 'Go on.' }];
        expect((await generateText({ model, messages, reasoning: 'high', maxRetries: 0 })).text).toBe(text);
        if (name === '@ai-sdk/anthropic' && upstream === 'messages') expect(firstThought(requests()[1]!)).toEqual(signedThoughts);
      });
    }
  });
});
